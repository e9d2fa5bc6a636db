"""The parent's side of a worker process: start it, tell it, hear it, and end it whatever happens."""

import contextlib
import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from assay.load._job import Job

_KILL_AFTER_S = 5.0


@dataclass(slots=True)
class WorkerProcess:
    """A running worker and the last thing it said."""

    job: Job
    process: subprocess.Popen[bytes]
    errors: BinaryIO
    said: dict[str, Any] = field(default_factory=dict)
    died: str | None = None
    pending: bytes = b""

    @property
    def is_ready(self) -> bool:
        """True once it has connected ahead and waits for the start, or can no longer do so."""
        return "ready" in self.said or self.died is not None

    @property
    def is_over(self) -> bool:
        """True once it has said its last word or died."""
        return "final" in self.said or self.died is not None


class WorkerGroup:
    """All workers of a run."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.workers: list[WorkerProcess] = []
        self._selector = selectors.DefaultSelector()
        try:
            for job in jobs:
                self._add(job)
        except BaseException:
            self.end()
            raise

    def _add(self, job: Job) -> None:
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed in end().
        process = subprocess.Popen(
            [sys.executable, "-m", "assay.load._worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
            env=_worker_environment(),
        )
        worker = WorkerProcess(job=job, process=process, errors=errors)
        self.workers.append(worker)
        assert process.stdout is not None  # noqa: S101 - it was asked for.
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)
        self._tell(worker, job.to_line())

    def tell(self, line: bytes) -> None:
        """Send one line to every worker that still listens."""
        for worker in self.workers:
            self._tell(worker, line)

    def hear(self, timeout_s: float) -> None:
        """Take what workers say, waiting at most ``timeout_s`` for the first word."""
        if not self._selector.get_map():
            time.sleep(min(timeout_s, 0.01))
            return
        for key, _ in self._selector.select(timeout_s):
            self._take(key.data)

    def end(self) -> None:
        """Wait shortly for the workers to leave, then kill those that do not."""
        for worker in self.workers:
            if worker.process.stdin is not None:
                # The end of its standard input tells a worker to leave at once.
                with contextlib.suppress(OSError):
                    worker.process.stdin.close()
        deadline = time.monotonic() + _KILL_AFTER_S
        for worker in self.workers:
            try:
                worker.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
            if worker.process.stdout is not None:
                worker.process.stdout.close()
            worker.errors.close()
        self._selector.close()

    def _tell(self, worker: WorkerProcess, line: bytes) -> None:
        assert worker.process.stdin is not None  # noqa: S101 - it was asked for.
        # A worker that has died is found when its output ends.
        with contextlib.suppress(OSError):
            worker.process.stdin.write(line)

    def _take(self, worker: WorkerProcess) -> None:
        assert worker.process.stdout is not None  # noqa: S101 - it was asked for.
        data = os.read(worker.process.stdout.fileno(), 1 << 16)
        if not data:
            self._selector.unregister(worker.process.stdout)
            if not worker.is_over:
                worker.died = self._cause_of_death(worker)
            return
        *lines, worker.pending = (worker.pending + data).split(b"\n")
        for line in lines:
            worker.said |= json.loads(line)

    def _cause_of_death(self, worker: WorkerProcess) -> str:
        code = worker.process.wait()
        worker.errors.seek(0)
        last_lines = worker.errors.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        cause = f"killed by signal {-code}" if code < 0 else f"ended with code {code}"
        return f"{cause}: {last_lines[-1]}" if last_lines else cause


def _worker_environment() -> dict[str, str]:
    """Return this process's environment with its import path, so that a worker finds the same package."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
