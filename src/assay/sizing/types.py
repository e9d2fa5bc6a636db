"""The sizing plan: what each candidate needs in memory, by formula, and whether it fits."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["fits", "does not fit", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """What the artifact itself says of the model; ``None`` where it does not say."""

    architecture: str
    layers: int
    kv_heads: int
    """Key/value heads of a layer (grouped-query attention has fewer than query heads)."""
    key_dim: int
    """Elements of one head's key."""
    value_dim: int
    """Elements of one head's value."""
    trained_context_tokens: int | None
    weights_bytes: int
    """Bytes of all tensors as stored."""
    parameters: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One part of the memory, with the formula and the numbers that went in."""

    name: str
    size_bytes: int
    formula: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSize:
    """The memory of one candidate on the profile's hardware."""

    candidate_id: str
    candidate_name: str
    shape: ModelShape | None
    """``None`` for an attached server."""
    terms: tuple[Term, ...]
    needed_bytes: int | None
    available_bytes: int | None
    """Memory of the hardware; ``None`` when it is not known."""
    verdict: Verdict
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingPlan:
    """Sizes of all candidates of a shortlist."""

    sizes: tuple[CandidateSize, ...]
