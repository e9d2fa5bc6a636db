"""The shortlist: which candidates can serve the profile, and which cannot, each for stated reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from assay.core.caveat import Caveat

Setting = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledEngine:
    """An engine at hand on this machine."""

    engine: str
    version: str
    python: str
    """Interpreter of its environment."""
    origin: str
    """Where it was found, for people."""
    caveats: tuple[Caveat, ...] = ()
    """Doubts that every result of this installation carries, such as stand-in kernels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What this machine holds: engines by name, newest first, and converted models by format."""

    engines: Mapping[str, tuple[InstalledEngine, ...]]
    converted_artifacts: Mapping[str, str]
    """Directory of the model converted to a format, by that format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """The model's bytes that a candidate serves."""

    format: str
    path: str
    digest: str
    """Digest of the file, or of the digests of a directory's files."""
    size_bytes: int
    converted_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """Engine + version + artifact + settings + hardware: what trials measure and a decision names."""

    id: str
    """Short, stable and safe in file names: a slug of the name and the digest of all below."""
    name: str
    engine: str
    engine_version: str | None
    """``None`` for an attached server, whose version is asked when it runs."""
    python: str | None
    """Interpreter of the engine's environment; ``None`` for an attached server."""
    url: str | None
    """Address of a server that runs already; ``None`` when Assay starts it."""
    port: int | None
    artifact: Artifact | None
    """``None`` for an attached server."""
    model_name: str
    context_tokens: int
    settings: Mapping[str, Setting]
    device: str
    cores: int | None
    caveats: tuple[Caveat, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One requirement and how an engine stands to it."""

    requirement: str
    """Such as ``device cpu``."""
    verdict: Literal["met", "not met", "unknown", "not installed"]
    text: str
    source: str | None = None
    """Source of the fact behind it; ``None`` when no fact is known or this machine was asked."""
    as_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """A candidate or engine that stays out, and why."""

    name: str
    engine: str
    was_asked_for: bool
    """False for engines that the profile does not name and that are listed for completeness."""
    reasons: tuple[Reason, ...]
    next_step: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortlist:
    """The candidates to be measured, the rejected, and what only a run can verify."""

    candidates: tuple[Candidate, ...]
    rejections: tuple[Rejection, ...]
    grounds: Mapping[str, tuple[Reason, ...]] = field(default_factory=dict)
    """Why each accepted candidate is in, by its id."""
    verify: tuple[str, ...] = ()
    """What no fact settles and the experiments must show."""
