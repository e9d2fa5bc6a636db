"""What an answer said: output chunks with their arrival, usage, finish reason, errors; OpenAI streams and their kin.

Pure. Servers differ: role-only first chunks, ``null`` where an object is meant, usage on every chunk or only on the
last, reasoning under three names, errors inside a stream that began well. Each known shape is a golden stream in the
tests (S01 to S25). A chunk is not a token, and no token count is ever guessed.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from assay.load._sse import SseEvent, SseParser

_DONE = b"[DONE]"
_REASONING_KEYS = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class Reading:
    """An answer read so far."""

    is_done: bool = False
    """The stream said [DONE]."""
    error: str | None = None
    """Text of an error object inside the answer."""
    unreadable: str | None = None
    """The first event that is not what such a stream holds."""
    finish_reason: str | None = None
    response_id: str | None = None
    prompt_tokens: int | None = None
    cached_prompt_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    usage_events: int = 0
    chunk_at_ns: list[int] = field(default_factory=list)
    """Arrival of each chunk that carried output."""
    chunk_usage: list[int | None] = field(default_factory=list)
    """Completion tokens that the server had counted as of each of those chunks, where it said so."""
    first_token_after_ns: int | None = None
    """Lower bound of the first chunk's arrival where it shared its read with a later chunk."""
    shared_read_chunks: int = 0
    first_content_at_ns: int | None = None
    first_reasoning_at_ns: int | None = None
    first_tool_call_at_ns: int | None = None
    choices: set[int] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    has_body: bool = False


def read_stream(pieces: Iterable[tuple[int, bytes]], *, started_at_ns: int | None) -> Reading:
    """Read the body of a stream from (arrival, bytes) of each socket read.

    An event arrived with the read that completed it. ``started_at_ns`` (the send) bounds what came in the first read.
    """
    reading = Reading()
    parser = SseParser()
    previous_ns = started_at_ns
    last_ns = started_at_ns or 0
    for stamp_ns, piece in pieces:
        if piece:
            reading.has_body = True
            _take_read(reading, parser.feed(piece), stamp_ns, previous_ns)
        previous_ns = last_ns = stamp_ns
    _take_read(reading, parser.finish(), last_ns, previous_ns)
    return reading


def read_json(body: bytes) -> Reading:
    """Read an answer that came as one JSON document; it has no chunk times."""
    reading = Reading(has_body=bool(body))
    document = _parse(reading, body)
    if document is not None:
        _take_document(reading, document, None)
    return reading


def _take_read(reading: Reading, events: list[SseEvent], stamp_ns: int, previous_ns: int | None) -> None:
    """Take the events that one read completed; all but the last of its output chunks may have come earlier."""
    before = len(reading.chunk_at_ns)
    for event in events:
        _take_event(reading, event, stamp_ns)
    shared = len(reading.chunk_at_ns) - before - 1
    if shared > 0:
        reading.shared_read_chunks += shared
        if before == 0:
            reading.first_token_after_ns = previous_ns


def _take_event(reading: Reading, event: SseEvent, stamp_ns: int) -> None:
    data = event.data
    if data.strip() == _DONE:
        reading.is_done = True
        return
    if data.startswith(b":"):
        return  # A gateway that relays comments as data (S07); it says nothing.
    document = _parse(reading, data)
    if document is None:
        return
    if event.event == b"error" and "error" not in document:
        document = {"error": document}
    _take_document(reading, document, stamp_ns)


def _parse(reading: Reading, data: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        if reading.unreadable is None:
            reading.unreadable = data[:200].decode("utf-8", "replace")
        return None
    return document


def _take_document(reading: Reading, document: dict[str, Any], stamp_ns: int | None) -> None:
    if document.get("error"):
        reading.error = reading.error or _error_text(document["error"])
        return
    if reading.response_id is None and isinstance(document.get("id"), str):
        reading.response_id = document["id"]
    usage = document.get("usage")
    counted = _take_usage(reading, usage) if isinstance(usage, dict) else None
    choices = document.get("choices")
    has_output = False
    for choice in choices if isinstance(choices, list) else ():
        if isinstance(choice, dict):
            has_output |= _take_choice(reading, choice, stamp_ns)
    if has_output and stamp_ns is not None:
        reading.chunk_at_ns.append(stamp_ns)
        reading.chunk_usage.append(counted)


def _take_usage(reading: Reading, usage: dict[str, Any]) -> int | None:
    """Take the latest counts (they are running totals, never to be added up) and return the completion tokens."""
    reading.usage_events += 1
    output = _count(usage.get("completion_tokens"))
    prompt = _count(usage.get("prompt_tokens"))
    reading.prompt_tokens = reading.prompt_tokens if prompt is None else prompt
    reading.output_tokens = reading.output_tokens if output is None else output
    cached = _count(_part(usage, "prompt_tokens_details").get("cached_tokens"))
    reading.cached_prompt_tokens = reading.cached_prompt_tokens if cached is None else cached
    thought = _count(_part(usage, "completion_tokens_details").get("reasoning_tokens"))
    reading.reasoning_tokens = reading.reasoning_tokens if thought is None else thought
    return output


def _take_choice(reading: Reading, choice: dict[str, Any], stamp_ns: int | None) -> bool:
    """Take one choice of a chunk; returns True when it carried output."""
    finish_reason = choice.get("finish_reason")
    if isinstance(finish_reason, str) and finish_reason:
        reading.finish_reason = finish_reason
    index = choice.get("index")
    reading.choices.add(index if isinstance(index, int) else 0)
    delta = _part(choice, "delta") or _part(choice, "message")
    content = _text(delta.get("content")) or _text(choice.get("text"))
    reasoning = _reasoning(delta)
    has_tool_call = _has_tool_call(delta)
    if content:
        reading.texts.append(content)
        reading.first_content_at_ns = _first(reading.first_content_at_ns, stamp_ns)
    if reasoning:
        reading.first_reasoning_at_ns = _first(reading.first_reasoning_at_ns, stamp_ns)
    if has_tool_call:
        reading.first_tool_call_at_ns = _first(reading.first_tool_call_at_ns, stamp_ns)
    return bool(content or reasoning or has_tool_call)


def _reasoning(delta: dict[str, Any]) -> bool:
    if any(_text(delta.get(key)) for key in _REASONING_KEYS):
        return True
    details = delta.get("reasoning_details")
    if not isinstance(details, list):
        return False
    return any(_text(part.get("text")) or _text(part.get("summary")) for part in details if isinstance(part, dict))


def _has_tool_call(delta: dict[str, Any]) -> bool:
    """Return True for a name or a piece of arguments, also in the older ``function_call``."""
    calls = delta.get("tool_calls")
    functions = [_part(call, "function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    functions.append(_part(delta, "function_call"))
    return any(_text(function.get("name")) or _text(function.get("arguments")) for function in functions)


def _text(value: Any) -> str:
    """Return a text, or the texts of a list of content parts joined; "" for anything else."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _part(document: dict[str, Any], key: str) -> dict[str, Any]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _first(known: int | None, stamp_ns: int | None) -> int | None:
    return stamp_ns if known is None else known


def _error_text(error: Any) -> str:
    if isinstance(error, dict):
        message = error.get("message")
        code = error.get("code") or error.get("type")
        if isinstance(message, str):
            return f"{code}: {message}" if code else message
    return error if isinstance(error, str) else json.dumps(error)
