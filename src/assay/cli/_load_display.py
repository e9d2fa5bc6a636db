"""How a person follows a load: a live line on a terminal, plain lines elsewhere; both on standard error."""

import sys
import time
from types import TracebackType
from typing import Any, Self

from assay.core.units import format_duration
from assay.load import LoadProgress

_PLAIN_INTERVAL_S = 5.0


class LoadDisplay:
    """Shows ``LoadProgress``; use it as a context manager."""

    def __init__(self, *, label: str, is_quiet: bool = False) -> None:
        self._label, self._is_quiet = label, is_quiet
        self._live: Any = None
        self._task: Any = None
        self._last_plain = time.monotonic()

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not self._is_quiet:
            self._open_live()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: LoadProgress) -> None:
        """Show where the run stands."""
        if self._live is not None:
            ended = progress.ended_well + progress.ended_badly
            self._live.update(self._task, total=progress.planned, completed=ended, note=describe(progress))
        elif not self._is_quiet and time.monotonic() - self._last_plain >= _PLAIN_INTERVAL_S:
            self._last_plain = time.monotonic()
            sys.stderr.write(f"{self._label}: {describe(progress)}\n")
            sys.stderr.flush()

    def _open_live(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._live = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._live.add_task(self._label, total=None, note="")
        self._live.start()


def describe(progress: LoadProgress) -> str:
    """Return the progress as one line."""
    rate = progress.ended_well / progress.elapsed_s if progress.elapsed_s > 0 else 0.0
    state = "draining" if progress.is_draining else f"{rate:.1f} ended/s"
    return (
        f"{format_duration(round(progress.elapsed_s, 1))}, sent {progress.sent}, in flight {progress.in_flight},"
        f" ended {progress.ended_well}, failed {progress.ended_badly}, {state}"
    )
