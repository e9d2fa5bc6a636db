"""Prompts from a JSON Lines file: an object a line, with ``messages`` or ``prompt`` and whatever a request may hold."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.core.errors import BadInputError, Problem, bad_input
from assay.load.types import LoadRequest, Message
from assay.load.work.types import Workload

_KNOWN = frozenset(
    {"messages", "prompt", "max_tokens", "class", "prompt_tokens", "session", "think_time_s", "extra_body"}
)
_MAX_PROBLEMS = 10


def read_dataset(path: Path, *, default_max_tokens: int | None = None) -> Workload:
    """Return the requests of a JSON Lines data set; raises ``BadInputError`` with the lines that are wrong."""
    requests: list[LoadRequest] = []
    problems: list[Problem] = []
    for number, line in iter_lines(path):
        try:
            requests.append(_to_request(json.loads(line), default_max_tokens))
        except ValueError as error:
            problems.append(Problem(what=str(error), where=f"{path}:{number}"))
            if len(problems) == _MAX_PROBLEMS:
                break
    if problems:
        raise BadInputError(problems)
    if not requests:
        raise bad_input("holds no request", where=str(path))
    return Workload(requests=tuple(requests), source=str(path), rows=len(requests))


def iter_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of the lines that are not blank; raises ``BadInputError`` for an unreadable file."""
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise bad_input(error.strerror or str(error), where=str(path), next_step="check the path") from error
    except UnicodeDecodeError as error:
        raise bad_input(f"not UTF-8: {error.reason}", where=str(path)) from error


def _to_request(row: Any, default_max_tokens: int | None) -> LoadRequest:
    if not isinstance(row, dict):
        raise ValueError(f"got a JSON {type(row).__name__}, want an object")  # noqa: TRY004 - the file is wrong.
    unknown = sorted(row.keys() - _KNOWN)
    if unknown:
        raise ValueError(f"unknown key '{unknown[0]}', want some of {', '.join(sorted(_KNOWN))}")
    messages, prompt = row.get("messages"), row.get("prompt")
    if (messages is None) == (prompt is None):
        raise ValueError("want exactly one of 'messages' and 'prompt'")
    if prompt is not None and not isinstance(prompt, str):
        raise ValueError("prompt: want a text")
    return LoadRequest(
        messages=() if messages is None else tuple(to_message(message) for message in messages),
        prompt=prompt,
        max_tokens=_whole(row, "max_tokens", default_max_tokens),
        class_name=str(row.get("class", "dataset")),
        prompt_tokens=_whole(row, "prompt_tokens", None),
        session=_whole(row, "session", None),
        think_time_s=float(row.get("think_time_s", 0.0)),
        extra_body=row.get("extra_body") or {},
    )


def to_message(message: Any) -> Message:
    """Return a chat message of texts; raises ``ValueError`` for any other shape."""
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise ValueError("messages: want objects with 'role' and 'content'")  # noqa: TRY004
    content = message.get("content")
    if not isinstance(content, str):
        raise ValueError("messages: 'content' must be a text")  # noqa: TRY004
    return Message(role=message["role"], content=content)


def _whole(row: Mapping[str, Any], key: str, default: int | None) -> int | None:
    value = row.get(key, default)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise ValueError(f"{key}: got {json.dumps(value)}, want a whole number >= 0")
    return value
