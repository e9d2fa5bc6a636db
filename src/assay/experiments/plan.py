"""The plan: randomised, interleaved blocks, drawn once from the profile's seed.

Each block holds every candidate once, in a random order, each with a fresh engine start: drift of the machine falls
on all alike, and the start, not the request, is the unit of replication (Kalibera and Jones, ISMM 2013). Block n
depends on the seed and n alone, so that a plan with more blocks extends a smaller one and keeps its finished trials.
"""

from collections.abc import Iterable
from pathlib import Path
from random import Random

from assay.core.artifact import read_artifact, write_artifact
from assay.core.errors import GateFailedError, Problem
from assay.experiments._launch_request import require_settings
from assay.experiments.types import BudgetName, Plan, Trial
from assay.profile import WorkloadProfile
from assay.shortlist import Candidate, Shortlist
from assay.sizing import SizingPlan

PLAN_KIND = "assay/plan/1"
BLOCKS_BY_BUDGET: dict[BudgetName, int] = {"quick": 3, "standard": 6, "thorough": 12}
"""6 is the least at which a paired comparison can reach 95 % (see ``assay.stats``); 3 only shows the way."""


def plan(
    profile: WorkloadProfile,
    shortlist: Shortlist,
    sizing: SizingPlan,
    *,
    budget: BudgetName,
    blocks: int | None = None,
    extends: Plan | None = None,
) -> Plan:
    """Draw the trials of all candidates that fit; ``blocks`` overrides the budget's number.

    ``extends`` is the plan whose results were seen already. Raises ``GateFailedError`` when no candidate is left and
    ``BadInputError`` for settings that an engine does not take.
    """
    left_out = {
        entry.candidate_name: "does not fit in memory" for entry in sizing.sizes if _is_too_large(entry.verdict)
    }
    candidates = tuple(entry for entry in shortlist.candidates if entry.name not in left_out)
    if not candidates:
        raise GateFailedError(_nothing_to_run(shortlist, left_out))
    require_settings(candidates)
    n_blocks = blocks or BLOCKS_BY_BUDGET[budget]
    return Plan(
        budget=budget,
        blocks=n_blocks,
        trials=tuple(_draw_trials(candidates, n_blocks, profile.seed)),
        candidates=candidates,
        left_out=left_out,
        traffic=profile.traffic,
        slo=profile.slo,
        primary_metric=profile.objective.metric,
        margin=profile.objective.margin,
        confidence=profile.objective.confidence,
        seed=profile.seed,
        extended_from_blocks=extends.blocks if extends is not None and extends.blocks < n_blocks else None,
    )


def write_plan(path: Path, result: Plan, *, shortlist_digest: str, sizing_digest: str) -> str:
    """Write the stage's file and return its digest."""
    inputs = {"shortlist": shortlist_digest, "sizing": sizing_digest}
    return write_artifact(path, kind=PLAN_KIND, body=result, inputs=inputs, seed=result.seed)


def read_plan(path: Path) -> tuple[Plan, str]:
    """Return a plan and the digest of its file."""
    artifact = read_artifact(path, kind=PLAN_KIND, body_type=Plan)
    return artifact.body, artifact.digest


def _is_too_large(verdict: str) -> bool:
    return verdict == "does not fit"


def _draw_trials(candidates: tuple[Candidate, ...], blocks: int, seed: int) -> Iterable[Trial]:
    for block in range(1, blocks + 1):
        rng = Random(f"assay/block/{seed}/{block}")  # noqa: S311 - an order, not a secret.
        block_seed = rng.getrandbits(32)
        order = sorted(candidates, key=lambda entry: entry.id)
        rng.shuffle(order)
        for position, candidate in enumerate(order, start=1):
            yield Trial(
                id=f"b{block:02d}-{position}-{candidate.id}",
                experiment="load",
                block=block,
                position=position,
                candidate_id=candidate.id,
                seed=block_seed,
            )


def _nothing_to_run(shortlist: Shortlist, left_out: dict[str, str]) -> list[Problem]:
    problems = [Problem(what=f"{name}: {why}") for name, why in left_out.items()]
    for entry in shortlist.rejections:
        if entry.was_asked_for:
            reasons = ", ".join(reason.text for reason in entry.reasons)
            problems.append(Problem(what=f"{entry.name}: {reasons}", next_step=entry.next_step))
    return [Problem(what="no candidate can be measured here"), *problems]
