"""Reading a YAML file that a person wrote: into a typed value, or into every problem of the file with its line.

The file is read as plain data only: no tags that build objects, no duplicate keys, no anchors (an alias can blow a
small file up to gigabytes), bounded size and depth. Values then pass pydantic in strict mode, so that ``"5"`` is not
taken for 5.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml

from assay.core.errors import BadInputError, Problem, bad_input, did_you_mean, environment_failed
from assay.core.ids import digest_bytes

T = TypeVar("T")
_MAX_BYTES = 1 << 20
_MAX_DEPTH = 32
Loc = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A YAML file as plain data, with the line of every node and the digest of the bytes."""

    path: Path
    data: Any
    lines: Mapping[Loc, int]
    digest: str

    def where(self, loc: Loc) -> str:
        """Return ``file:line: dotted.path`` of ``loc`` or of its nearest parent that is in the file."""
        known = loc
        while known and known not in self.lines:
            known = known[:-1]
        line = self.lines.get(known, 1)
        return f"{self.path}:{line}: {dotted(loc)}" if loc else f"{self.path}:{line}"


def dotted(loc: Loc) -> str:
    """Return a path such as ``slo.classes[1].ttft_ms``."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text


def load_document(path: Path) -> Document:
    """Read a YAML file; raises ``BadInputError`` when it is missing, not YAML, or not plain data."""
    raw = _read_bytes(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise bad_input(f"not UTF-8: {error.reason} at byte {error.start}", where=str(path)) from error
    builder = _Builder(path)
    return Document(path=path, data=builder.build(text), lines=builder.lines, digest=digest_bytes(raw))


def parse_document(document: Document, wanted: type[T]) -> T:
    """Return the document as ``wanted`` (a dataclass); raises ``BadInputError`` with all problems at once."""
    from pydantic import TypeAdapter, ValidationError

    if not isinstance(document.data, dict):
        raise bad_input(f"got {_describe(document.data)}, want a mapping", where=document.where(()))
    adapter = TypeAdapter(wanted)
    try:
        return adapter.validate_json(json.dumps(document.data), strict=True)
    except ValidationError as error:
        schema = adapter.json_schema()
        details = error.errors(include_url=False)
        raise BadInputError([_to_problem(document, detail, schema) for detail in details]) from error


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            raw = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise bad_input("no such file", where=str(path), next_step="check the path") from error
    except IsADirectoryError as error:
        raise bad_input("is a directory, want a YAML file", where=str(path)) from error
    except OSError as error:
        raise environment_failed(f"could not read: {error.strerror or error}", where=str(path)) from error
    if len(raw) > _MAX_BYTES:
        raise bad_input(f"larger than {_MAX_BYTES} bytes; is this the right file?", where=str(path))
    return raw


class _Builder:
    """Turns the node tree into plain data and notes where each node stood."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[Loc, int] = {}
        self._constructor = yaml.constructor.SafeConstructor()

    def build(self, text: str) -> Any:
        try:
            self._refuse_aliases(text)
            node = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError as error:
            raise self._yaml_problem(error) from error
        except RecursionError as error:
            raise bad_input("nested too deeply", where=str(self.path)) from error
        return None if node is None else self._value(node, ())

    def _refuse_aliases(self, text: str) -> None:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise bad_input("anchors and aliases are not used here; write the value out", where=self._at(event))
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > _MAX_DEPTH:
                raise bad_input(f"nested deeper than {_MAX_DEPTH} levels", where=self._at(event))

    def _value(self, node: yaml.Node, loc: Loc) -> Any:
        self.lines.setdefault(loc, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, loc)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(child, (*loc, index)) for index, child in enumerate(node.value)]
        return self._scalar(node, loc)

    def _mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            place = (*loc, key)
            if key in result:
                raise bad_input(f"'{key}' stands twice", where=f"{self._at(key_node)}: {dotted(place)}")
            self.lines[place] = key_node.start_mark.line + 1
            result[key] = self._value(value_node, place)
        return result

    def _scalar(self, node: yaml.Node, loc: Loc) -> Any:
        try:
            value = self._constructor.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise bad_input(f"not a plain value: {error}", where=f"{self._at(node)}: {dotted(loc)}") from error
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return node.value  # Dates and binaries stay as they were written.

    def _at(self, place: yaml.Node | yaml.Event) -> str:
        mark = place.start_mark
        return f"{self.path}:{mark.line + 1}" if mark else str(self.path)

    def _yaml_problem(self, error: yaml.YAMLError) -> BadInputError:
        mark = getattr(error, "problem_mark", None)
        where = f"{self.path}:{mark.line + 1}" if mark else str(self.path)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        return bad_input(f"not YAML: {reason}", where=where, next_step="check indentation, colons and quotes there")


def _to_problem(document: Document, detail: Mapping[str, Any], schema: Mapping[str, Any]) -> Problem:
    loc: Loc = tuple(part for part in detail["loc"] if not _is_union_tag(part))
    kind = detail["type"]
    if kind in {"extra_forbidden", "unexpected_keyword_argument"}:
        hint = did_you_mean(str(loc[-1]), _known_keys(schema))
        return Problem(where=document.where(loc), what=f"unknown key '{loc[-1]}'", next_step=hint)
    if kind in {"missing", "missing_argument"}:
        return Problem(where=document.where(loc), what=f"'{loc[-1]}' is missing", next_step="add it")
    if kind == "value_error":
        return Problem(where=document.where(loc), what=str(detail["ctx"]["error"]))
    return Problem(where=document.where(loc), what=f"got {_describe(detail['input'])}, want {_wanted(detail)}")


def _is_union_tag(part: str | int) -> bool:
    """Pydantic adds the tried type to the path of a union (``float``, ``constrained-str``, ``function-after[...]``)."""
    return isinstance(part, str) and bool(
        re.search(r"^(float|int|str|bool|constrained-\w+|function-.*|\w+\[.*)$", part)
    )


def _known_keys(schema: Mapping[str, Any]) -> set[str]:
    keys: set[str] = set(schema.get("properties", ()))
    for definition in schema.get("$defs", {}).values():
        keys.update(definition.get("properties", ()))
    return keys


def _describe(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}…"


_WANTED_BY_TYPE = {
    "float_type": "a number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a text",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "dataclass_type": "a mapping",
    "dataclass_exact_type": "a mapping",
    "finite_number": "a finite number",
}


def _wanted(detail: Mapping[str, Any]) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "greater_than":
            return f"a number > {context['gt']:g}"
        case "greater_than_equal":
            return f"a number >= {context['ge']:g}"
        case "less_than":
            return f"a number < {context['lt']:g}"
        case "less_than_equal":
            return f"a number <= {context['le']:g}"
        case "literal_error":
            return f"one of {context['expected']}".replace("'", '"')
        case "too_short":
            return f"at least {context['min_length']} entries"
        case "string_too_short":
            return "a text that is not empty"
        case kind:
            return _WANTED_BY_TYPE.get(kind) or str(detail["msg"]).removeprefix("Input should be ")
