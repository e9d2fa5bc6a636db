"""How a person follows a run: a live line on a terminal, plain lines elsewhere. Both on standard error."""

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from assay.core.units import format_duration
from assay.experiments import Plan, RunProgress

_QUIET_PHASES = ("warming up", "measuring", "stopping")


class RunDisplay:
    """Shows ``RunProgress``; use it as a context manager."""

    def __init__(self) -> None:
        self._live: Any = None
        self._overall: Any = None
        self._current: Any = None
        self._started = time.monotonic()
        self._measured = 0

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._open_live()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: RunProgress) -> None:
        """Show one step."""
        self._measured += progress.phase in {"finished", "failed"}
        if self._live is None:
            self._say_plainly(progress)
        else:
            self._update_live(progress)

    def announce(self, directory: Path, planned: Plan) -> None:
        """Say what is about to run and where it goes."""
        names = ", ".join(entry.name for entry in planned.candidates)
        self._say(f"{len(planned.trials)} trials in {planned.blocks} blocks of: {names}")
        self._say(f"evidence goes to {directory}")

    def _say(self, text: str) -> None:
        if self._live is not None:
            self._live.console.print(text, markup=False, highlight=False)
        else:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def _open_live(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._live = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._overall = self._live.add_task("trials", total=None, note="")
        self._current = self._live.add_task("", total=1.0, note="")
        self._live.start()

    def _say_plainly(self, progress: RunProgress) -> None:
        if progress.phase not in _QUIET_PHASES:
            self._say(_line(progress))

    def _update_live(self, progress: RunProgress) -> None:
        done = progress.number - (progress.phase not in {"finished", "failed", "skipped"})
        self._live.update(self._overall, total=progress.total, completed=done, note=self._eta(progress, done))
        self._live.update(
            self._current,
            description=f"{progress.candidate_name}: {progress.phase}",
            completed=progress.share,
            note=progress.text,
        )
        if progress.phase in {"finished", "failed"}:
            self._say(_line(progress))

    def _eta(self, progress: RunProgress, done: int) -> str:
        position = f"{done} of {progress.total}"
        if not self._measured:
            return position
        each_s = (time.monotonic() - self._started) / self._measured
        return f"{position}, about {format_duration(each_s * (progress.total - done))} left"


def _line(progress: RunProgress) -> str:
    place = f"[{progress.number}/{progress.total}] block {progress.trial.block}"
    return f"{place}, {progress.candidate_name}: {progress.phase}" + (f" ({progress.text})" if progress.text else "")
