"""What can go wrong, by what the caller can do about it.

Each error class carries the exit code of ``docs/design``: 1 a gate or requirement failed, 2 bad input, 3 the
environment failed, 4 inconclusive. A message has one shape: where, what, got and want, next step.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

EXIT_FIT = 0
EXIT_GATE_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_ENVIRONMENT = 3
EXIT_INCONCLUSIVE = 4
EXIT_INTERRUPTED = 130  # The shell's convention: 128 + SIGINT.


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with one input, and what to do next."""

    what: str
    """What is wrong, with "got X, want Y" where a value is wrong."""
    where: str | None = None
    """File, line and dotted path, or the flag; ``None`` when the problem has no place."""
    next_step: str | None = None
    """What the user can do, as a whole sentence without a final full stop."""
    detail: str | None = None
    """What another program said of it, such as the end of an engine's log."""

    def render(self) -> str:
        """Return the problem as one line, ``where: what; next step``, and its detail indented beneath."""
        text = f"{self.where}: {self.what}" if self.where else self.what
        text = f"{text}; {self.next_step}" if self.next_step else text
        indented = "".join(f"\n    {line}" for line in (self.detail or "").splitlines())
        return text + indented


class AssayError(Exception):
    """Base of all errors that a user may see; never raised itself."""

    exit_code = EXIT_ENVIRONMENT

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(problem.render() for problem in self.problems))


class BadInputError(AssayError):
    """The user's file, flag or argument is wrong; nothing was run."""

    exit_code = EXIT_BAD_INPUT


class EnvironmentFailedError(AssayError):
    """The machine, an engine or the network failed; the same input may work later."""

    exit_code = EXIT_ENVIRONMENT


class GateFailedError(AssayError):
    """The input is sound and was judged: a hard requirement is not met."""

    exit_code = EXIT_GATE_FAILED


def bad_input(what: str, *, where: str | None = None, next_step: str | None = None) -> BadInputError:
    """Return a ``BadInputError`` of one problem."""
    return BadInputError(Problem(what=what, where=where, next_step=next_step))


def environment_failed(what: str, *, where: str | None = None, next_step: str | None = None) -> EnvironmentFailedError:
    """Return an ``EnvironmentFailedError`` of one problem."""
    return EnvironmentFailedError(Problem(what=what, where=where, next_step=next_step))


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Return "did you mean 'x'?" for the closest known word, or ``None`` when none is close."""
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else None
