"""How long are prompts and outputs, in tokens? Distributions that draw pairs from one generator."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from assay.core.errors import bad_input


class Lengths(Protocol):
    """A distribution of one length."""

    def draw(self, rng: Random) -> int:
        """Return a length of at least 1."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always the same length."""

    tokens: int

    def draw(self, rng: Random) -> int:
        """See ``Lengths``; draws nothing."""
        return self.tokens


@dataclass(frozen=True, slots=True)
class Uniform:
    """Every whole number from ``low`` to ``high``, both included, alike."""

    low: int
    high: int

    def draw(self, rng: Random) -> int:
        """See ``Lengths``."""
        return rng.randint(self.low, self.high)


@dataclass(frozen=True, slots=True)
class LogNormal:
    """A skewed length, as real prompts have: the logarithm is normal."""

    median: float
    sigma: float
    """Standard deviation of the natural logarithm."""

    def draw(self, rng: Random) -> int:
        """See ``Lengths``."""
        return max(1, round(self.median * math.exp(self.sigma * rng.gauss(0.0, 1.0))))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Prompt and output lengths that were seen together, drawn with replacement; they are seldom independent."""

    pairs: Sequence[tuple[int, int]]

    def draw(self, rng: Random) -> tuple[int, int]:
        """Return one (prompt, output) pair."""
        return rng.choice(self.pairs)


def parse_lengths(text: str, *, where: str) -> Lengths:
    """Parse ``N``, ``LOW-HIGH`` (uniform) or ``MEDIAN~SIGMA`` (log-normal); raises ``BadInputError``."""
    try:
        if "~" in text:
            median, _, sigma = text.partition("~")
            return _checked(
                LogNormal(float(median), float(sigma)), float(median) >= 1 and float(sigma) >= 0, text, where
            )
        if "-" in text:
            low, high = (int(part) for part in text.split("-", 1))
            return _checked(Uniform(low, high), 1 <= low <= high, text, where)
        return _checked(Fixed(int(text)), int(text) >= 1, text, where)
    except ValueError:
        raise _bad_lengths(text, where) from None


def _checked(lengths: Lengths, is_sound: bool, text: str, where: str) -> Lengths:
    if not is_sound:
        raise _bad_lengths(text, where)
    return lengths


def _bad_lengths(text: str, where: str) -> Exception:
    return bad_input(f'got "{text}", want N, LOW-HIGH or MEDIAN~SIGMA in tokens, at least 1', where=where)
