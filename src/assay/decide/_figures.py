"""One candidate's figures over its blocks, from the raw records of its finished trials."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from assay.decide._gates import gate_completes, gate_slo, gate_starts
from assay.decide.types import CandidateFigures, Quantiles
from assay.experiments import FailedTrial, Plan, TrialResult
from assay.load import RequestRecord
from assay.profile import Slo
from assay.shortlist import Candidate
from assay.stats import SloLimits, Summary, summarize

LoadRecords = Callable[[TrialResult], Sequence[RequestRecord]]
_CUT_OFF = "cut off"


def figures_of(
    plan: Plan,
    candidate: Candidate,
    results: Sequence[TrialResult],
    failures: Sequence[FailedTrial],
    load_records: LoadRecords,
) -> CandidateFigures:
    """Summarize a candidate's trials, block by block and pooled, and hold them against the gates."""
    own = [result for result in results if result.trial.candidate_id == candidate.id]
    records = {result.trial.block: load_records(result) for result in own}
    limits = _limits(plan.slo)
    by_block = {block: summarize(entries, slo=limits) for block, entries in records.items()}
    pooled = summarize(list(chain.from_iterable(records.values())), slo=limits)
    objective = tuple(_objective(plan.primary_metric, by_block.get(block)) for block in range(1, plan.blocks + 1))
    good = [summary.good or 0 for summary in by_block.values()]
    offered = [summary.offered for summary in by_block.values()]
    return CandidateFigures(
        candidate_id=candidate.id,
        name=candidate.name,
        engine=candidate.engine,
        engine_version=next((result.engine_version for result in own), candidate.engine_version),
        blocks=len(own),
        objective_by_block=objective,
        objective=_geometric_mean([value for value in objective if value is not None]),
        good_requests=sum(good),
        offered_requests=sum(offered),
        goodput_rps=_mean([summary.goodput_rps for summary in by_block.values()]),
        output_tokens_per_s=_mean([summary.output_tokens_per_s for summary in by_block.values()]),
        output_tokens_per_s_by_block=tuple(
            by_block[block].output_tokens_per_s if block in by_block else None for block in range(1, plan.blocks + 1)
        ),
        ttft=_quantiles(pooled, "ttft_s"),
        tpot=_quantiles(pooled, "tpot_s"),
        start_s=_median([result.start.generated_s for result in own]),
        mean_prompt_tokens=_mean_tokens(records.values(), "prompt_tokens"),
        mean_output_tokens=_mean_tokens(records.values(), "output_tokens"),
        outcomes=dict(Counter(record.outcome for entries in records.values() for record in entries)),
        gates=(
            gate_starts(len(own), _failure_reasons(candidate, failures, own)),
            gate_completes(pooled.outcomes.get("completed", 0), pooled.offered),
            gate_slo(good, offered, attainment=plan.slo.attainment, confidence=plan.confidence),
        ),
    )


def _limits(slo: Slo) -> SloLimits:
    return SloLimits(
        ttft_s=_to_s(slo.ttft_ms),
        tpot_s=_to_s(slo.tpot_ms),
        e2e_s=_to_s(slo.e2e_latency_ms),
    )


def _to_s(limit_ms: float | None) -> float | None:
    return None if limit_ms is None else limit_ms / 1000


def _objective(metric: str, summary: Summary | None) -> float | None:
    if summary is None:
        return None
    match metric:
        case "goodput_rps":
            return summary.goodput_rps
        case "output_tokens_per_s":
            return summary.output_tokens_per_s
        case "ttft_p50_s":
            return summary.metric("ttft_s").quantile(0.5).value
        case "tpot_p50_s":
            return summary.metric("tpot_s").quantile(0.5).value
    raise ValueError(metric)


def _failure_reasons(
    candidate: Candidate, failures: Sequence[FailedTrial], own: Sequence[TrialResult]
) -> tuple[str, ...]:
    """Return why trials failed that no later attempt finished; a trial that Assay itself cut off says nothing."""
    finished = {result.trial.id for result in own}
    return tuple(
        entry.reason.splitlines()[0]
        for entry in failures
        if entry.trial.candidate_id == candidate.id
        and entry.trial.id not in finished
        and not entry.reason.startswith(_CUT_OFF)
    )


def _quantiles(summary: Summary, name: str) -> Quantiles:
    metric = summary.metric(name)
    return Quantiles(
        metric=name,
        n=metric.count,
        p50_s=metric.quantile(0.5).value,
        p90_s=metric.quantile(0.9).value,
        p99_s=metric.quantile(0.99).value,
    )


def _geometric_mean(values: Sequence[float]) -> float | None:
    if not values or min(values) <= 0:
        return None
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _mean_tokens(records: Iterable[Sequence[RequestRecord]], attribute: str) -> float | None:
    return _mean([getattr(record, attribute) for entries in records for record in entries])
