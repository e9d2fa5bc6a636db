"""The run directory: one writer, finished trials that cannot be lost, failed ones kept as evidence.

A trial is measured in ``work/<id>`` and becomes finished by one rename to ``trials/<id>``, after its result has
reached the disk. What stands in ``work`` at the next start was cut off; it moves to ``failed``.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from assay.core.artifact import read_artifact, write_artifact
from assay.core.errors import environment_failed
from assay.core.ids import digest_file
from assay.experiments.types import FailedTrial, Plan, Trial, TrialResult

TRIAL_KIND = "assay/trial/1"
FAILED_KIND = "assay/failed-trial/1"
RESULT_NAME = "trial.json"
RECORDS_NAME = "records.parquet"
ENGINE_LOG_NAME = "engine.log"
METRICS_BEFORE_NAME = "metrics-before.txt"
METRICS_AFTER_NAME = "metrics-after.txt"
_FAILED_NAME = "failed.json"


class RunStore:
    """Finds, makes and finishes the trial directories of one run."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def trial_directory(self, trial: Trial) -> Path:
        """Return where a finished trial lies."""
        return self.directory / "trials" / trial.id

    def is_finished(self, trial: Trial) -> bool:
        """Whether the trial was measured to its end."""
        return (self.trial_directory(trial) / RESULT_NAME).is_file()

    def open_work(self, trial: Trial) -> Path:
        """Return an empty directory to measure in; raises ``EnvironmentFailedError`` when the disk refuses."""
        work = self.directory / "work" / trial.id
        try:
            work.mkdir(parents=True)
        except OSError as error:
            raise environment_failed(f"could not create: {error.strerror or error}", where=str(work)) from error
        return work

    def finish(self, trial: Trial, work: Path, result: TrialResult, *, plan_digest: str) -> None:
        """Make the trial finished: its result reaches the disk, then one rename."""
        write_artifact(
            work / RESULT_NAME, kind=TRIAL_KIND, body=result, inputs={"plan": plan_digest}, seed=result.trial.seed
        )
        target = self.trial_directory(trial)
        target.parent.mkdir(parents=True, exist_ok=True)
        work.rename(target)
        _sync_directory(target.parent)

    def fail(self, trial: Trial, work: Path, reason: str, *, candidate_name: str) -> FailedTrial:
        """Move an unfinished trial to ``failed`` with its reason."""
        target = self._free_failed_name(trial.id)
        target.parent.mkdir(parents=True, exist_ok=True)
        work.rename(target)
        failed = FailedTrial(
            trial=trial,
            candidate_name=candidate_name,
            failed_at_utc=datetime.now(UTC).isoformat(timespec="seconds"),
            reason=reason,
            directory=str(target.relative_to(self.directory)),
        )
        write_artifact(target / _FAILED_NAME, kind=FAILED_KIND, body=failed, inputs={})
        return failed

    def clear_work(self, plan: Plan) -> None:
        """Move what an earlier run left unfinished to ``failed``."""
        work_root = self.directory / "work"
        by_id = {trial.id: trial for trial in plan.trials}
        for leftover in sorted(work_root.iterdir()) if work_root.is_dir() else ():
            trial = by_id.get(leftover.name)
            if trial is not None:
                name = plan.candidate(trial.candidate_id).name
                self.fail(trial, leftover, "cut off: the run ended before the trial did", candidate_name=name)

    def results(self, plan: Plan) -> tuple[TrialResult, ...]:
        """Return the results of all finished trials of the plan, in its order."""
        return tuple(
            read_artifact(self.trial_directory(trial) / RESULT_NAME, kind=TRIAL_KIND, body_type=TrialResult).body
            for trial in plan.trials
            if self.is_finished(trial)
        )

    def failures(self) -> tuple[FailedTrial, ...]:
        """Return every failed or cut-off trial, oldest first."""
        paths = sorted((self.directory / "failed").glob(f"*/{_FAILED_NAME}"))
        found = [read_artifact(path, kind=FAILED_KIND, body_type=FailedTrial).body for path in paths]
        return tuple(sorted(found, key=lambda entry: entry.failed_at_utc))

    def _free_failed_name(self, trial_id: str) -> Path:
        attempt = 1
        while (target := self.directory / "failed" / f"{trial_id}-{attempt}").exists():
            attempt += 1
        return target


@contextmanager
def only_writer(directory: Path) -> Iterator[None]:
    """Hold the run directory's lock; raises ``EnvironmentFailedError`` when another Assay works in it."""
    from filelock import FileLock, Timeout

    lock = FileLock(directory / ".lock")
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise environment_failed(
            "another assay works in this directory", where=str(directory), next_step="wait for it, or end it"
        ) from error
    except OSError as error:
        raise environment_failed(f"could not lock: {error.strerror or error}", where=str(directory)) from error
    try:
        yield
    finally:
        lock.release()


def digest_files(directory: Path) -> dict[str, str]:
    """Return the digest of each file of a trial's evidence, by name."""
    return {path.name: digest_file(path) for path in sorted(directory.iterdir()) if path.is_file()}


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
