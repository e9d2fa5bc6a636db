"""The decision: which candidate, how surely, why, and what would change it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.core.caveat import Caveat
from assay.stats.compare import Comparison

GateVerdict = Literal["pass", "fail", "not proven", "no evidence"]
Answer = Literal["chosen", "equivalent", "inconclusive", "none fits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """How one candidate stands to one hard requirement."""

    gate: str
    """Stable name: ``starts``, ``completes`` or ``slo``."""
    verdict: GateVerdict
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantiles:
    """Pooled quantiles of one time over all requests of a candidate, in seconds.

    ``None`` where there are fewer requests than the quantile's interval needs.
    """

    metric: str
    n: int
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFigures:
    """What was measured of one candidate, over its blocks."""

    candidate_id: str
    name: str
    engine: str
    engine_version: str | None
    blocks: int
    objective_by_block: tuple[float | None, ...]
    """The objective in each block of the plan; ``None`` where the trial did not finish."""
    objective: float | None
    """Geometric mean over the blocks; ``None`` without one above zero in each."""
    good_requests: int
    offered_requests: int
    goodput_rps: float | None
    """Mean over the blocks."""
    output_tokens_per_s: float | None
    """Mean over the blocks."""
    output_tokens_per_s_by_block: tuple[float | None, ...]
    ttft: Quantiles
    tpot: Quantiles
    start_s: float | None
    """Median time from process start to the first generated tokens."""
    mean_prompt_tokens: float | None
    """As the server counts."""
    mean_output_tokens: float | None
    outcomes: Mapping[str, int]
    gates: tuple[GateResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer and everything it rests on, in the words that the report shows."""

    answer: Answer
    headline: str
    """The answer in one sentence."""
    argument: tuple[str, ...]
    """Why this one, by how much, how surely."""
    would_change: tuple[str, ...]
    """What would settle or change it, commands included."""
    winner_id: str | None
    """The candidate to take; ``None`` when there is none yet."""
    metric: str
    margin: float
    confidence: float
    blocks: int
    figures: tuple[CandidateFigures, ...]
    """Best first."""
    comparisons: tuple[Comparison, ...]
    """The leader against each other candidate that passes the gates, then for information the rest."""
    caveats: tuple[Caveat, ...]
    exit_code: int
