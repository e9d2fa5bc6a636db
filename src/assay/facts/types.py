"""A fact: one value about one subject, for some versions, with its source and its date."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import MinLen
from packaging.specifiers import SpecifierSet

_STRICT: Any = {"extra": "forbid"}
Confidence = Literal["documented", "measured", "reported"]
Value = bool | int | float | str | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One known value; a missing fact means unknown, never no."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    subject: Annotated[str, MinLen(1)]
    """What it is about: an engine, a device, a format."""
    key: Annotated[str, MinLen(1)]
    """Dotted name of the property, such as ``format.gguf``."""
    value: Value
    versions: str = ""
    """Versions it holds for, as a PEP 440 specifier; empty for all."""
    source: Annotated[str, MinLen(1)]
    as_of: Annotated[str, MinLen(10)]
    """Date of the source, ISO 8601."""
    confidence: Confidence
    note: str = ""

    @property
    def id(self) -> str:
        """Name to cite the fact by."""
        return f"{self.subject}:{self.key}"

    def holds_for(self, version: str | None) -> bool:
        """Whether it covers ``version``; an unversioned question is covered by every fact."""
        return version is None or not self.versions or SpecifierSet(self.versions, prereleases=True).contains(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactBase:
    """All facts at hand and the digest that names this set."""

    facts: tuple[Fact, ...]
    titles: Mapping[str, str]
    """Name of each subject for people, by subject."""
    digest: str

    def find(self, subject: str, key: str, *, version: str | None = None) -> Fact | None:
        """Return the fact, or ``None`` when it is not known for that version."""
        for fact in self.facts:
            if fact.subject == subject and fact.key == key and fact.holds_for(version):
                return fact
        return None

    def subjects(self, kind: str) -> tuple[str, ...]:
        """Return the subjects whose ``kind`` fact has this value, such as all of kind ``engine``."""
        return tuple(fact.subject for fact in self.facts if fact.key == "kind" and fact.value == kind)
