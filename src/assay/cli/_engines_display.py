"""How a person follows an installation and reads what the doctor says."""

import re
import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from assay.engines import Finding, InstallProgress

_SIGNS = {"ok": ("ok", "green"), "wrong": ("wrong", "red"), "note": ("note", "cyan")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """All findings of one call, for programs."""

    findings: tuple[Finding, ...]


class InstallDisplay:
    """Shows ``InstallProgress`` on standard error: a live line on a terminal, one plain line a step elsewhere."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._live: Any = None
        self._task: Any = None
        self._said: str | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._open_live()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: InstallProgress) -> None:
        """Show one step."""
        if self._live is not None:
            self._live.update(
                self._task,
                description=f"{self._name}: {progress.step}",
                total=None if progress.share is None else 1.0,
                completed=progress.share or 0,
            )
        elif _kind_of(progress.step) != self._said:
            self._said = _kind_of(progress.step)
            sys.stderr.write(f"{self._name}: {progress.step}\n")
            sys.stderr.flush()

    def _open_live(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._live = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._live.add_task(self._name, total=None)
        self._live.start()


def print_finding(finding: Finding) -> None:
    """Print one finding: the level, the subject, what was found, and below it the next step."""
    from rich.console import Console
    from rich.text import Text

    word, colour = _SIGNS[finding.level]
    line = Text.assemble((f"{word:<6}", colour), (finding.subject, "bold"), f": {finding.text}")
    console = Console(soft_wrap=True)
    console.print(line)
    if finding.next_step:
        console.print(Text(f"      {finding.next_step}"))


def _kind_of(step: str) -> str:
    """Return the step without its numbers, so that a log names each step once."""
    return re.sub(r"\d+", "", step)
