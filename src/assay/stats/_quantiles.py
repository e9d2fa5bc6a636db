"""Quantiles with distribution-free confidence intervals.

Independent values: order statistics (David and Nagaraja, Order Statistics, 7.1): the number of values below the true
quantile is binomial, whatever the distribution. Values that come in clusters (the gaps of one stream): Woodruff,
Confidence Intervals for Medians and Other Position Measures, JASA 47 (1952): an interval on the share of values below,
from the variance between clusters, read off the sample. Point estimates interpolate linearly (Hyndman and Fan, type 7).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, norm

from assay.stats.types import Quantile

MIN_CLUSTERS = 20
"""Below this many clusters the variance between them is too rough for a normal interval."""
Floats = NDArray[np.float64]


def min_sample_size(p: float, confidence: float) -> int:
    """Return the least n whose smallest and largest values enclose the quantile with ``confidence``.

    That is the least n with 1 - p^n - (1 - p)^n >= confidence: 6 for p50 and 299 for p99 at 95 %.
    """
    tail = max(p, 1 - p)
    n = max(2, math.ceil(math.log(1 - confidence) / math.log(tail)))
    while 1 - p**n - (1 - p) ** n < confidence:
        n += 1
    return n


def quantile(values: Floats, p: float, confidence: float) -> Quantile:
    """Return the quantile of independent values; its interval covers at least ``confidence``."""
    n, needed = len(values), min_sample_size(p, confidence)
    if n < needed:
        return Quantile(p=p, value=None, low=None, high=None, reason=f"needs {needed} values, has {n}")
    ordered = np.sort(values)
    low, high = _ranks(n, p, confidence)
    return Quantile(p=p, value=float(np.quantile(ordered, p)), low=float(ordered[low]), high=float(ordered[high]))


def clustered_quantile(clusters: Sequence[Floats], p: float, confidence: float) -> Quantile:
    """Return the quantile of all values of ``clusters``; the interval allows for likeness within a cluster."""
    filled = [cluster for cluster in clusters if len(cluster)]
    if len(filled) < MIN_CLUSTERS:
        reason = f"needs {MIN_CLUSTERS} requests, has {len(filled)}"
        return Quantile(p=p, value=None, low=None, high=None, reason=reason)
    ordered = np.sort(np.concatenate(filled))
    value = float(np.quantile(ordered, p))
    half = float(norm.ppf((1 + confidence) / 2)) * _share_error(filled, value)
    # The share of values at most `value` can differ from p by one value, which matters for few values only.
    half = max(half, 1 / len(ordered))
    if p + half >= 1 or p - half <= 0:
        reason = f"{len(ordered)} gaps of {len(filled)} requests do not reach beyond it"
        return Quantile(p=p, value=None, low=None, high=None, reason=reason)
    low, high = np.quantile(ordered, [p - half, p + half], method="nearest")
    return Quantile(p=p, value=value, low=float(low), high=float(high))


def _ranks(n: int, p: float, confidence: float) -> tuple[int, int]:
    """Return 0-based ranks (l, u) with P(x_l <= quantile <= x_u) >= confidence, tails as even as they can be."""
    tail = (1 - confidence) / 2
    low = int(binom.ppf(tail, n, p)) - 1
    high = int(binom.ppf(1 - tail, n, p))
    low, high = max(low, 0), min(high, n - 1)
    # An end that had to be cut short leaves its share of the confidence to the other end.
    while _coverage(n, p, low, high) < confidence and (low > 0 or high < n - 1):
        low, high = max(low - 1, 0), min(high + 1, n - 1)
    return low, high


def _coverage(n: int, p: float, low: int, high: int) -> float:
    return float(binom.cdf(high, n, p) - binom.cdf(low, n, p))


def _share_error(clusters: Sequence[Floats], value: float) -> float:
    """Return the standard error of the share of values <= ``value``: a ratio of two cluster totals (linearised)."""
    sizes = np.array([len(cluster) for cluster in clusters], dtype=np.float64)
    below = np.array([np.count_nonzero(cluster <= value) for cluster in clusters], dtype=np.float64)
    k = len(clusters)
    residuals = below - sizes * (below.sum() / sizes.sum())
    return float(math.sqrt(k / (k - 1) * np.sum(residuals**2)) / sizes.sum())
