"""Text of a wanted length without a tokenizer: common English words, about one token each in today's vocabularies.

The server's own count of prompt tokens stands in the records beside the length that was meant.
"""

from functools import cache
from pathlib import Path
from random import Random


def words(count: int, rng: Random) -> str:
    """Return ``count`` words drawn from ``rng``."""
    return " ".join(rng.choices(_vocabulary(), k=count)) if count > 0 else ""


def block(identity: int | str, count: int) -> str:
    """Return the text of a named block: the same identity is always the same text, different ones differ at once."""
    rng = Random(f"assay/block/{identity}")  # noqa: S311 - a workload, not a secret.
    return words(count, rng)


@cache
def _vocabulary() -> tuple[str, ...]:
    return tuple(Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split())
