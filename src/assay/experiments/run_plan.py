"""Run the trials of a plan that are not finished yet, one engine at a time, each in a fresh start."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from assay.core.clock import Clock
from assay.core.errors import AssayError, EnvironmentFailedError, Problem, environment_failed
from assay.engines import EngineFailedError
from assay.experiments._store import RunStore, only_writer
from assay.experiments._trial import measure_trial
from assay.experiments.types import Phase, Plan, RunProgress, Tell, Trial, TrialResult

OnProgress = Callable[[RunProgress], None]
_LEAST_FREE_BYTES = 64 << 20


def run_plan(
    plan: Plan, *, plan_digest: str, directory: Path, clock: Clock, on_progress: OnProgress
) -> tuple[TrialResult, ...]:
    """Measure every trial that is not finished, and return the results of all that are.

    A candidate whose engine fails is not started again in this call; its trial is kept under ``failed``, and the
    others go on. Raises ``EnvironmentFailedError`` when no candidate finished a trial, when the disk refuses, or when
    another Assay works in ``directory``. A ``KeyboardInterrupt`` leaves the finished trials and ends the engine.
    """
    with only_writer(directory):
        _require_space(directory)
        store = RunStore(directory)
        store.clear_work(plan)
        broken = _run_pending(plan, plan_digest, store, clock, on_progress)
        results = store.results(plan)
        if not results and broken:
            raise EnvironmentFailedError([problem for error in broken.values() for problem in error.problems])
        return results


def _run_pending(
    plan: Plan, plan_digest: str, store: RunStore, clock: Clock, on_progress: OnProgress
) -> dict[str, EngineFailedError]:
    broken: dict[str, EngineFailedError] = {}
    for number, trial in enumerate(plan.trials, start=1):
        tell = _teller(plan, trial, number, on_progress)
        if store.is_finished(trial):
            tell("skipped", "finished earlier")
        elif trial.candidate_id in broken:
            tell("skipped", "its engine failed before")
        else:
            try:
                _run_one(plan, plan_digest, trial, store, clock, tell)
            except EngineFailedError as error:
                broken[trial.candidate_id] = error
                tell("failed", error.problems[0].what)
    return broken


def _run_one(plan: Plan, plan_digest: str, trial: Trial, store: RunStore, clock: Clock, tell: Tell) -> None:
    work = store.open_work(trial)
    name = plan.candidate(trial.candidate_id).name
    try:
        result = measure_trial(plan, trial, work, clock=clock, tell=tell)
        store.finish(trial, work, result, plan_digest=plan_digest)
    except OSError as error:
        raise environment_failed(
            f"could not write: {error.strerror or error}",
            where=str(error.filename or work),
            next_step="free space, then run the same command again; finished trials are kept",
        ) from error
    except AssayError as error:
        with suppress(OSError, AssayError):  # The reason that is on its way to the user matters more.
            store.fail(trial, work, str(error), candidate_name=name)
        raise
    tell("finished", _outcome_text(result))


def _teller(plan: Plan, trial: Trial, number: int, on_progress: OnProgress) -> Tell:
    name = plan.candidate(trial.candidate_id).name

    def tell(phase: Phase, text: str = "", share: float = 0.0) -> None:
        on_progress(
            RunProgress(
                phase=phase,
                trial=trial,
                candidate_name=name,
                number=number,
                total=len(plan.trials),
                text=text,
                share=share,
            )
        )

    return tell


def _outcome_text(result: TrialResult) -> str:
    total = sum(result.outcomes.values())
    return f"{result.outcomes.get('completed', 0)} of {total} requests completed"


def _require_space(directory: Path) -> None:
    import shutil

    free = shutil.disk_usage(directory).free
    if free < _LEAST_FREE_BYTES:
        raise EnvironmentFailedError(
            Problem(
                what=f"only {free >> 20} MiB of disk are free, want {_LEAST_FREE_BYTES >> 20}",
                where=str(directory),
                next_step="free space or choose another directory with --out",
            )
        )
