"""The stages of a run, each on the files of a run directory: reuse what is there and still holds, else make it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.core.clock import SystemClock
from assay.core.errors import bad_input, environment_failed
from assay.experiments import BudgetName, Plan, TrialResult, plan, read_plan, run_plan, write_plan
from assay.experiments.run_plan import OnProgress
from assay.facts import FactBase, load_facts
from assay.profile import LoadedProfile, load_profile, read_profile, write_profile
from assay.shortlist import Shortlist, read_shortlist, shortlist, write_shortlist
from assay.sizing import SizingPlan, read_sizing, size, write_sizing

PROFILE_NAME = "profile.json"
SHORTLIST_NAME = "shortlist.json"
SIZING_NAME = "sizing.json"
PLAN_NAME = "plan.json"
DECISION_NAME = "decision.json"
REPORT_NAME = "report.html"
DEFAULT_BUDGET: BudgetName = "standard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run directory after its profile was read."""

    directory: Path
    loaded: LoadedProfile
    profile_digest: str
    facts: FactBase

    def path(self, name: str) -> Path:
        """Return the path of a stage's file."""
        return self.directory / name


def default_directory(loaded: LoadedProfile) -> Path:
    """Return ``runs/<name>`` for a profile."""
    slug = re.sub(r"[^a-z0-9._-]+", "-", loaded.profile.name.lower()).strip("-.") or "run"
    return Path("runs") / slug


def open_run(profile_path: Path, out: Path | None) -> Run:
    """Check the profile and open its run directory; raises ``BadInputError`` when that belongs to another profile."""
    loaded = load_profile(profile_path)
    directory = out or default_directory(loaded)
    path = directory / PROFILE_NAME
    if path.exists():
        earlier, digest = read_profile(path)
        if earlier.profile != loaded.profile:
            raise bad_input(
                f"belongs to another state of the profile ({earlier.source})",
                where=str(directory),
                next_step="choose another directory with --out, or restore the profile",
            )
        return Run(directory=directory, loaded=earlier, profile_digest=digest, facts=load_facts())
    _make_directory(directory)
    digest = write_profile(path, loaded)
    return Run(directory=directory, loaded=loaded, profile_digest=digest, facts=load_facts())


def reopen_run(directory: Path) -> Run:
    """Open a run directory that an earlier command made; raises ``BadInputError`` when it is none."""
    if not directory.is_dir():
        raise bad_input("no such run directory", where=str(directory), next_step="run: assay select PROFILE")
    loaded, digest = read_profile(directory / PROFILE_NAME)
    return Run(directory=directory, loaded=loaded, profile_digest=digest, facts=load_facts())


def ensure_shortlist(run: Run, *, is_fresh: bool = False) -> tuple[Shortlist, str]:
    """Return the shortlist and its digest, made anew when the profile or the facts have changed."""
    from assay.cli._inventory import take_inventory

    path = run.path(SHORTLIST_NAME)
    if not is_fresh and _is_current(path, {"profile": run.profile_digest, "facts": run.facts.digest}):
        return read_shortlist(path)
    result = shortlist(run.loaded, run.facts, take_inventory())
    return result, write_shortlist(path, result, profile_digest=run.profile_digest, facts=run.facts)


def ensure_sizing(run: Run, *, is_fresh: bool = False) -> tuple[SizingPlan, str]:
    """Return the sizing plan and its digest, made anew when the shortlist has changed."""
    import psutil

    path = run.path(SIZING_NAME)
    listed, shortlist_digest = ensure_shortlist(run)
    if not is_fresh and _is_current(path, {"shortlist": shortlist_digest, "facts": run.facts.digest}):
        return read_sizing(path)
    machine_bytes = psutil.virtual_memory().total if run.loaded.profile.hardware.device == "cpu" else None
    result = size(run.loaded.profile, listed, run.facts, machine_bytes=machine_bytes)
    return result, write_sizing(path, result, shortlist_digest=shortlist_digest, facts=run.facts)


def ensure_plan(run: Run, *, budget: BudgetName | None, blocks: int | None) -> tuple[Plan, str]:
    """Return the plan and its digest; a larger budget extends the plan that is there and keeps its finished trials."""
    path = run.path(PLAN_NAME)
    listed, shortlist_digest = ensure_shortlist(run)
    sizing, sizing_digest = ensure_sizing(run)
    is_current = _is_current(path, {"shortlist": shortlist_digest, "sizing": sizing_digest})
    earlier = read_plan(path) if is_current else None
    if earlier is not None and budget is None and blocks is None:
        return earlier
    made = plan(
        run.loaded.profile,
        listed,
        sizing,
        budget=budget or (earlier[0].budget if earlier else DEFAULT_BUDGET),
        blocks=blocks,
        extends=earlier[0] if earlier and run.path(DECISION_NAME).exists() else None,
    )
    if earlier is not None and made.trials == earlier[0].trials:
        return earlier
    return made, write_plan(path, made, shortlist_digest=shortlist_digest, sizing_digest=sizing_digest)


def run_trials(run: Run, planned: Plan, plan_digest: str, on_progress: OnProgress) -> tuple[TrialResult, ...]:
    """Run what is not finished of the plan."""
    return run_plan(
        planned, plan_digest=plan_digest, directory=run.directory, clock=SystemClock(), on_progress=on_progress
    )


def require_plan(run: Run) -> tuple[Plan, str]:
    """Return the plan of a run; raises ``BadInputError`` when none was made yet."""
    path = run.path(PLAN_NAME)
    if not path.exists():
        raise bad_input("has no plan yet", where=str(run.directory), next_step=f"run: assay plan {run.directory}")
    return read_plan(path)


def _is_current(path: Path, inputs: Mapping[str, str]) -> bool:
    """Whether a stage's file was made from exactly these inputs; a damaged one is made anew."""
    import json

    try:
        found = json.loads(path.read_bytes())["provenance"]["inputs"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(found == dict(inputs))


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise environment_failed(
            f"could not create: {error.strerror or error}",
            where=str(directory),
            next_step="choose another directory with --out",
        ) from error
