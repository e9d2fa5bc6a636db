"""Which of two candidates is better, how surely, and how many more blocks would tell?

The unit is the block: one fresh start of each candidate under the same requests. The log of the ratio A/B of each
block is one observation; their mean is the log of the geometric mean ratio. Two intervals are made, Student's t and
the bias-corrected accelerated bootstrap (Efron, 1987; ``scipy.stats.bootstrap``), and the wider one counts: the
bootstrap alone is too narrow for a handful of blocks. Equivalence is shown by two one-sided tests, that is by the
interval of twice the error inside the margin (Schuirmann, 1987).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Answer = Literal["A", "B", "equivalent", "inconclusive"]

MIN_BLOCKS = 6
"""Below six blocks even a unanimous sign cannot reach 95 % two-sided: 2 / 2**5 = 0.0625, 2 / 2**6 = 0.031."""
_MAX_BLOCKS = 1000
_RESAMPLES = 9999
_BOOTSTRAP_SEED = 20260101


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval of a ratio."""

    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What the blocks say of A against B on one metric."""

    a: str
    b: str
    metric: str
    is_higher_better: bool
    margin: float
    """Relative difference that does not matter."""
    block_ratios: tuple[float | None, ...]
    """A/B in each block; ``None`` where one of them has no value above zero."""
    ratio: float | None
    """Geometric mean of A/B; ``None`` without a usable block."""
    interval: Interval | None
    """Of the ratio, at the stated confidence; ``None`` below two usable blocks."""
    equivalence_interval: Interval | None
    """Of the ratio, for the two one-sided tests; ``None`` below two usable blocks."""
    answer: Answer
    more_blocks: int | None
    """Further blocks that would tell if the next are like these; ``None`` when answered or not to be foreseen."""
    reason: str
    """Why the answer is what it is, as a whole sentence."""


def compare(
    a: str,
    b: str,
    values_a: Sequence[float | None],
    values_b: Sequence[float | None],
    *,
    metric: str,
    is_higher_better: bool,
    margin: float,
    confidence: float,
) -> Comparison:
    """Compare two candidates on one metric, block by block (``values_a[i]`` and ``values_b[i]`` are of one block)."""
    ratios = tuple(_ratio(x, y) for x, y in zip(values_a, values_b, strict=True))
    logs = [math.log(ratio) for ratio in ratios if ratio is not None]
    alpha = 1 - confidence
    interval = _interval(logs, confidence)
    tost = _interval(logs, 1 - 2 * alpha)
    answer = _answer(logs, interval, tost, margin, is_higher_better)
    more = _more_blocks(logs, margin, alpha) if answer == "inconclusive" else None
    return Comparison(
        a=a,
        b=b,
        metric=metric,
        is_higher_better=is_higher_better,
        margin=margin,
        block_ratios=ratios,
        ratio=math.exp(math.fsum(logs) / len(logs)) if logs else None,
        interval=interval,
        equivalence_interval=tost,
        answer=answer,
        more_blocks=more,
        reason=_reason(answer, len(logs), len(ratios), more),
    )


def _ratio(x: float | None, y: float | None) -> float | None:
    return x / y if x is not None and y is not None and x > 0 and y > 0 else None


def _interval(logs: Sequence[float], confidence: float) -> Interval | None:
    if len(logs) < 2:
        return None
    low, high = _t_interval(logs, confidence)
    if len(logs) >= MIN_BLOCKS and max(logs) > min(logs):
        boot_low, boot_high = _bootstrap_interval(logs, confidence)
        low, high = min(low, boot_low), max(high, boot_high)
    return Interval(low=math.exp(low), high=math.exp(high), confidence=confidence)


def _t_interval(logs: Sequence[float], confidence: float) -> tuple[float, float]:
    from scipy import stats

    mean, sd = _mean_sd(logs)
    half = float(stats.t.ppf((1 + confidence) / 2, len(logs) - 1)) * sd / math.sqrt(len(logs))
    return mean - half, mean + half


def _bootstrap_interval(logs: Sequence[float], confidence: float) -> tuple[float, float]:
    import numpy as np
    from scipy import stats

    result = stats.bootstrap(
        (np.asarray(logs),),
        np.mean,
        confidence_level=confidence,
        n_resamples=_RESAMPLES,
        method="BCa",
        rng=np.random.default_rng(_BOOTSTRAP_SEED),
    )
    low, high = float(result.confidence_interval.low), float(result.confidence_interval.high)
    mean = math.fsum(logs) / len(logs)
    # BCa has no value when the jackknife is degenerate; then the t interval alone counts.
    return (low, high) if math.isfinite(low) and math.isfinite(high) else (mean, mean)


def _mean_sd(logs: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(logs) / len(logs)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in logs) / (len(logs) - 1))


def _answer(
    logs: Sequence[float], interval: Interval | None, tost: Interval | None, margin: float, is_higher_better: bool
) -> Answer:
    if len(logs) < MIN_BLOCKS or interval is None or tost is None:
        return "inconclusive"
    if tost.low > 1 / (1 + margin) and tost.high < 1 + margin:
        return "equivalent"
    if interval.low > 1:
        return "A" if is_higher_better else "B"
    if interval.high < 1:
        return "B" if is_higher_better else "A"
    return "inconclusive"


def _more_blocks(logs: Sequence[float], margin: float, alpha: float) -> int | None:
    """Return how many more blocks like these would settle it, either as a difference or as equivalence."""
    from scipy import stats

    if len(logs) < 2:
        return max(MIN_BLOCKS - len(logs), 1)
    mean, sd = _mean_sd(logs)
    limit = math.log1p(margin)
    for n in range(max(MIN_BLOCKS, len(logs) + 1), _MAX_BLOCKS):
        scale = sd / math.sqrt(n)
        tells_difference = abs(mean) > float(stats.t.ppf(1 - alpha / 2, n - 1)) * scale
        tells_equivalence = abs(mean) + float(stats.t.ppf(1 - alpha, n - 1)) * scale < limit
        if tells_difference or tells_equivalence:
            return n - len(logs)
    return None


def _reason(answer: Answer, usable: int, blocks: int, more: int | None) -> str:
    if usable == 0:
        return f"None of {blocks} blocks has a value above zero for both."
    if answer == "equivalent":
        return f"The interval of {usable} blocks lies inside the margin."
    if answer in {"A", "B"}:
        return f"The interval of {usable} blocks excludes equality."
    told = "more than can be foreseen" if more is None else f"{more} more would tell if the next are like these"
    if usable < MIN_BLOCKS:
        return f"{usable} of at least {MIN_BLOCKS} blocks; {told}."
    return f"The interval of {usable} blocks includes equality and leaves the margin; {told}."
