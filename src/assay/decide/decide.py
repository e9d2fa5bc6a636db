"""From the finished trials to an answer: gates first, then the objective, compared in paired blocks.

The candidate with the best geometric mean among those that pass every gate leads. It is compared with each of the
others at a confidence shared out among the comparisons (Bonferroni), and the worst of these answers is the answer: a
leader that is not surely ahead of everyone has not been chosen.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from assay.core.artifact import read_artifact, write_artifact
from assay.core.caveat import Caveat
from assay.core.errors import EXIT_FIT, EXIT_GATE_FAILED, EXIT_INCONCLUSIVE
from assay.decide._figures import figures_of
from assay.decide._words import Wording
from assay.decide.types import Answer, CandidateFigures, Decision
from assay.experiments import FailedTrial, Plan, TrialResult
from assay.load import RequestRecord
from assay.stats import Comparison, compare

DECISION_KIND = "assay/decision/1"
LoadRecords = Callable[[TrialResult], Sequence[RequestRecord]]
_EXIT_CODES: Mapping[Answer, int] = {
    "chosen": EXIT_FIT,
    "equivalent": EXIT_FIT,
    "inconclusive": EXIT_INCONCLUSIVE,
    "none fits": EXIT_GATE_FAILED,
}


def decide(
    plan: Plan,
    results: Sequence[TrialResult],
    failures: Sequence[FailedTrial],
    *,
    load_records: LoadRecords,
    run_directory: str,
    profile_source: str,
) -> Decision:
    """Judge the candidates of a plan by its finished trials.

    ``load_records`` reads one trial's requests; directory and source of the profile only stand in the advice.
    """
    figures = sorted(
        (figures_of(plan, candidate, results, failures, load_records) for candidate in plan.candidates),
        key=_best_first(plan),
    )
    contenders = [entry for entry in figures if _may_win(entry)]
    comparisons = _compare_all(plan, figures, contenders)
    caveats = _collect_caveats(plan, results)
    answer, more_blocks = _answer(plan, contenders, figures, comparisons, caveats)
    words = Wording(
        plan=plan,
        figures=tuple(figures),
        contenders=tuple(contenders),
        comparisons=comparisons,
        answer=answer,
        more_blocks=more_blocks,
        run_directory=run_directory,
        profile_source=profile_source,
        seconds_per_block=_seconds_per_block(plan, results),
    )
    return Decision(
        answer=answer,
        headline=words.headline(),
        argument=words.argument(),
        would_change=words.would_change(),
        winner_id=contenders[0].candidate_id if answer in {"chosen", "equivalent"} else None,
        metric=plan.primary_metric,
        margin=plan.margin,
        confidence=plan.confidence,
        blocks=plan.blocks,
        figures=tuple(figures),
        comparisons=comparisons,
        caveats=caveats,
        exit_code=_EXIT_CODES[answer],
    )


def write_decision(path: Path, decision: Decision, *, plan_digest: str, trial_digests: Mapping[str, str]) -> str:
    """Write the stage's file and return its digest."""
    inputs = {"plan": plan_digest, **{f"trial {name}": digest for name, digest in trial_digests.items()}}
    return write_artifact(path, kind=DECISION_KIND, body=decision, inputs=inputs)


def read_decision(path: Path) -> tuple[Decision, str]:
    """Return a decision and the digest of its file."""
    artifact = read_artifact(path, kind=DECISION_KIND, body_type=Decision)
    return artifact.body, artifact.digest


def is_higher_better(metric: str) -> bool:
    """Whether more of the metric is better; times end in ``_s``, rates do not."""
    return metric.endswith(("_rps", "_per_s"))


def _best_first(plan: Plan) -> Callable[[CandidateFigures], tuple[bool, bool, float]]:
    sign = -1.0 if is_higher_better(plan.primary_metric) else 1.0

    def key(entry: CandidateFigures) -> tuple[bool, bool, float]:
        value = entry.objective
        return (not _may_win(entry), value is None, 0.0 if value is None else sign * value)

    return key


def _may_win(entry: CandidateFigures) -> bool:
    """Whether no gate stands against the candidate; "not proven" leaves it in the race with a doubt."""
    return all(gate.verdict in {"pass", "not proven"} for gate in entry.gates)


def _compare_all(
    plan: Plan, figures: Sequence[CandidateFigures], contenders: Sequence[CandidateFigures]
) -> tuple[Comparison, ...]:
    """Compare the leader with every other candidate, the contenders first."""
    if len(figures) < 2:
        return ()
    leader = figures[0]
    rivals = max(len(contenders) - 1, 1)
    confidence = 1 - (1 - plan.confidence) / rivals
    return tuple(
        compare(
            leader.candidate_id,
            other.candidate_id,
            leader.objective_by_block,
            other.objective_by_block,
            metric=plan.primary_metric,
            is_higher_better=is_higher_better(plan.primary_metric),
            margin=plan.margin,
            confidence=confidence,
        )
        for other in figures[1:]
    )


def _answer(
    plan: Plan,
    contenders: Sequence[CandidateFigures],
    figures: Sequence[CandidateFigures],
    comparisons: Sequence[Comparison],
    caveats: Sequence[Caveat],
) -> tuple[Answer, int | None]:
    if not contenders:
        has_gap = any(gate.verdict == "no evidence" for entry in figures for gate in entry.gates)
        return ("inconclusive", None) if has_gap else ("none fits", None)
    if any(caveat.forbids_performance_decision for caveat in caveats):
        return "inconclusive", None
    rivals = {entry.candidate_id for entry in contenders[1:]}
    decisive = [entry for entry in comparisons if entry.b in rivals]
    open_ones = [entry for entry in decisive if entry.answer == "inconclusive"]
    if open_ones:
        needed = [entry.more_blocks for entry in open_ones]
        return "inconclusive", None if None in needed else max(number for number in needed if number is not None)
    if any(gate.verdict == "not proven" for gate in contenders[0].gates):
        return "inconclusive", plan.blocks
    return ("equivalent" if any(entry.answer == "equivalent" for entry in decisive) else "chosen"), None


def _seconds_per_block(plan: Plan, results: Sequence[TrialResult]) -> float | None:
    if not results:
        return None
    return sum(result.duration_s for result in results) / len(results) * len(plan.candidates)


def _collect_caveats(plan: Plan, results: Sequence[TrialResult]) -> tuple[Caveat, ...]:
    """Return each doubt once: those of the candidates and trials, and those of the plan itself."""
    found = [caveat for candidate in plan.candidates for caveat in candidate.caveats]
    found += [caveat for result in results for caveat in result.caveats]
    if plan.extended_from_blocks is not None:
        found.append(
            Caveat(
                id="optional-stopping",
                text=f"The plan was extended from {plan.extended_from_blocks} blocks after their results were seen, so"
                " the chance of a wrong answer is larger than stated.",
                remedy="Choose the number of blocks before the first look.",
            )
        )
    if any(candidate.url is None for candidate in plan.candidates):
        found.append(
            Caveat(
                id="shared-host",
                text="The load generator ran on the same processors as the engine.",
                remedy="Fine for a comparison of candidates; measure absolute figures from another machine.",
            )
        )
    unique = {(caveat.id, caveat.subject, caveat.text): caveat for caveat in found}
    return tuple(unique.values())
