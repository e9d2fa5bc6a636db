"""From the data files to facts; a file with an unknown key, a duplicate or no source does not load."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Literal

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from assay.core.errors import BadInputError, Problem
from assay.core.ids import digest_json
from assay.core.yaml_file import Document, load_document, parse_document
from assay.facts.types import Fact, FactBase

DATA_DIRECTORY = Path(__file__).parent / "data"
_STRICT: Any = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _FactFile:
    __pydantic_config__: ClassVar[Any] = _STRICT

    schema: Literal["assay/facts/1"]
    titles: Mapping[str, str]
    facts: tuple[Fact, ...]


def load_facts(directory: Path = DATA_DIRECTORY) -> FactBase:
    """Read every data file of ``directory``; raises ``BadInputError`` with file, line and all problems."""
    facts: list[Fact] = []
    titles: dict[str, str] = {}
    digests: dict[str, str] = {}
    for path in sorted(directory.glob("*.yaml")):
        document = load_document(path)
        content = parse_document(document, _FactFile)
        _raise_if_any(_lint(document, content))
        facts.extend(content.facts)
        titles.update(content.titles)
        digests[path.name] = document.digest
    return FactBase(facts=tuple(facts), titles=titles, digest=digest_json(digests))


def _raise_if_any(problems: Iterable[Problem]) -> None:
    found = list(problems)
    if found:
        raise BadInputError(found)


def _lint(document: Document, content: _FactFile) -> Iterable[Problem]:
    seen: set[tuple[str, str, str]] = set()
    previous = ("", "")
    for index, fact in enumerate(content.facts):
        where = document.where(("facts", index))
        name = (fact.subject, fact.key)
        if name < previous:
            yield Problem(where=where, what=f"'{fact.id}' is not in order", next_step="sort by subject and key")
        if (*name, fact.versions) in seen:
            yield Problem(where=where, what=f"'{fact.id}' stands twice for the same versions")
        if fact.subject not in content.titles:
            yield Problem(where=where, what=f"'{fact.subject}' has no title", next_step="add it to 'titles'")
        yield from _lint_values(where, fact)
        seen.add((*name, fact.versions))
        previous = name


def _lint_values(where: str, fact: Fact) -> Iterable[Problem]:
    try:
        date.fromisoformat(fact.as_of)
    except ValueError:
        yield Problem(where=where, what=f'as_of: got "{fact.as_of}", want a date such as 2026-12-01')
    try:
        SpecifierSet(fact.versions)
    except InvalidSpecifier:
        yield Problem(where=where, what=f'versions: got "{fact.versions}", want a range such as ">=0.10,<0.33"')
