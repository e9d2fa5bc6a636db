"""Hard requirements of one candidate: it starts, it completes what it is sent, and it keeps the SLO.

A gate fails closed: no finished trial is "no evidence", never a pass. The SLO gate compares the share of good requests
with the profile's ``attainment`` by Wilson's interval; because requests of one start resemble each other, the number
of requests is first divided by the design effect of the blocks (Kish, Survey Sampling, 1965, 5.4).
"""

import math
from collections.abc import Sequence

from assay.core.units import format_percent
from assay.decide.types import GateResult

_LEAST_COMPLETED = 0.99
"""A service that loses more than one request in a hundred under its own profile is broken, however fast it is."""


def gate_starts(finished: int, failures: Sequence[str]) -> GateResult:
    """Whether every start of the engine led to a finished trial; ``failures`` are the reasons of those that did not."""
    if finished == 0 and not failures:
        return GateResult(gate="starts", verdict="no evidence", text="No trial was run.")
    if failures and finished == 0:
        return GateResult(gate="starts", verdict="fail", text=f"No start led to a finished trial: {failures[-1]}")
    if failures:
        text = f"{len(failures)} of {finished + len(failures)} trials failed: {failures[-1]}"
        return GateResult(gate="starts", verdict="fail", text=text)
    return GateResult(gate="starts", verdict="pass", text=f"All {finished} starts served the model.")


def gate_completes(completed: int, offered: int) -> GateResult:
    """Whether the requests came back whole."""
    if offered == 0:
        return GateResult(gate="completes", verdict="no evidence", text="No request was measured.")
    text = f"{completed} of {offered} requests completed, want {format_percent(_LEAST_COMPLETED)}."
    verdict = "pass" if completed >= _LEAST_COMPLETED * offered else "fail"
    return GateResult(gate="completes", verdict="pass" if verdict == "pass" else "fail", text=text)


def gate_slo(good: Sequence[int], offered: Sequence[int], *, attainment: float, confidence: float) -> GateResult:
    """Whether the share of good requests reaches ``attainment``; one entry a block in ``good`` and ``offered``."""
    total = sum(offered)
    if total == 0:
        return GateResult(gate="slo", verdict="no evidence", text="No request was measured.")
    share = sum(good) / total
    low, high = _share_interval(good, offered, confidence)
    text = (
        f"{format_percent(share)} of {total} requests were good (interval {format_percent(low)} to"
        f" {format_percent(high)}), want {format_percent(attainment)}."
    )
    if low >= attainment:
        return GateResult(gate="slo", verdict="pass", text=text)
    if high < attainment:
        return GateResult(gate="slo", verdict="fail", text=text)
    return GateResult(gate="slo", verdict="not proven", text=text)


def _share_interval(good: Sequence[int], offered: Sequence[int], confidence: float) -> tuple[float, float]:
    """Return Wilson's interval of the share at the effective number of requests."""
    from scipy import stats

    total, share = sum(offered), sum(good) / sum(offered)
    n = total / _design_effect(good, offered)
    z = float(stats.norm.ppf((1 + confidence) / 2))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def _design_effect(good: Sequence[int], offered: Sequence[int]) -> float:
    """Return the variance between blocks over that of independent requests, at least 1."""
    total, blocks = sum(offered), len(offered)
    share = sum(good) / total
    independent = share * (1 - share) / total
    if blocks < 2 or independent == 0:
        return 1.0
    squares = math.fsum((g - share * n) ** 2 for g, n in zip(good, offered, strict=True))
    between = blocks / (blocks - 1) * squares / total**2
    return max(1.0, between / independent)
