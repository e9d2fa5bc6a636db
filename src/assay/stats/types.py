"""What a set of records says: counts, rates and quantiles, each with its formula and its sureness.

A value that the records cannot support is ``None`` with a reason, never 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.core.caveat import Caveat


@dataclass(frozen=True, slots=True, kw_only=True)
class SloLimits:
    """Limits in seconds that one request must keep to be good; ``None`` sets no limit."""

    ttft_s: float | None = None
    """On the time to first token from when the request was due, which is what its user waited."""
    tpot_s: float | None = None
    e2e_s: float | None = None
    """On the whole answer from when the request was due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which requests count: chosen by their place in the schedule, never by when they ended."""

    first_index: int = 0
    """Requests before this index are warm-up."""
    start_s: float | None = None
    """Requests due earlier than this after the first of the run do not count."""
    end_s: float | None = None
    """Requests due at or after this do not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantile:
    """One quantile with a distribution-free confidence interval."""

    p: float
    value: float | None
    low: float | None
    """Lower end of the interval; ``None`` exactly when ``value`` is ``None``."""
    high: float | None
    reason: str | None = None
    """Why there is no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """One metric over all requests that have it."""

    name: str
    formula: str
    unit: str
    count: int
    """Number of values."""
    requests: int
    """Number of requests that they came from."""
    mean: float | None
    minimum: float | None
    maximum: float | None
    quantiles: tuple[Quantile, ...]
    reason: str | None = None
    """Why there are no values."""

    def quantile(self, p: float) -> Quantile:
        """Return the quantile at ``p``; raises ``KeyError`` when it was not asked for."""
        for quantile in self.quantiles:
            if quantile.p == p:
                return quantile
        raise KeyError(p)


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Everything that ``summarize`` says of one run's records."""

    offered: int
    """Requests of the window that became due; the outcomes add up to it."""
    outcomes: Mapping[str, int]
    failed: int
    duration_s: float | None
    """From the first due request of the window to the last end of one."""
    offered_rate_rps: float | None
    achieved_rate_rps: float | None
    """Completed requests per second of ``duration_s``."""
    output_tokens: int | None
    """Of completed requests, from the server's usage; ``None`` when one of them sent none."""
    output_tokens_per_s: float | None
    good: int | None
    """Completed requests within every limit; ``None`` without limits."""
    goodput_rps: float | None
    """Good requests per second of ``duration_s``."""
    good_tokens_per_s: float | None
    """Output tokens of good requests per second of ``duration_s``."""
    attainment: float | None
    """Good / offered, without those cancelled by plan."""
    attainment_low: float | None
    """Clopper-Pearson interval of the attainment, for requests that do not depend on one another."""
    attainment_high: float | None
    confidence: float
    metrics: tuple[MetricSummary, ...]
    caveats: tuple[Caveat, ...] = ()
    slo: SloLimits | None = None
    window: Window = field(default_factory=Window)

    def metric(self, name: str) -> MetricSummary:
        """Return one metric by name; raises ``KeyError`` for an unknown one."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise KeyError(name)
