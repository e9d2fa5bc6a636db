"""From what the transport saw to a record: reads the answer, judges how the request ended, and counts its tokens.

Pure. The order of judgment: what the transport could not finish, then the status, then what the answer itself says.
"""

import json
from dataclasses import dataclass
from typing import Any

from assay.load._reading import Reading, read_json, read_stream
from assay.load._spool import Capture, Ending
from assay.load.types import Api, Outcome, RequestRecord

_MAX_ERROR_CHARS = 300
_BY_ENDING: dict[Ending, Outcome] = {
    "unreachable": "network_error",
    "bad_http": "bad_response",
    "timed_out": "timed_out",
    "cancelled": "cancelled",
    "dropped": "dropped",
    "censored": "censored",
    "client_error": "client_error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Converter:
    """Turns captures of one worker into records."""

    api: Api
    is_streaming: bool
    keep_text: bool
    worker: int

    def to_record(self, capture: Capture) -> RequestRecord:
        """Return the record of one capture."""
        meta: dict[str, Any] = json.loads(capture.meta)
        reading = self._read(capture)
        outcome, error = self._judge(capture, reading)
        chunks = reading.chunk_at_ns
        return RequestRecord(
            index=capture.index,
            class_name=meta.get("class", "default"),
            outcome=outcome,
            scheduled_at_ns=capture.scheduled_at_ns,
            connect_started_at_ns=capture.connect_started_at_ns,
            connected_at_ns=capture.connected_at_ns,
            sent_at_ns=capture.sent_at_ns,
            headers_at_ns=capture.stamps_ns[0] if capture.stamps_ns else None,
            first_token_at_ns=chunks[0] if chunks else None,
            first_token_after_ns=reading.first_token_after_ns,
            first_content_at_ns=reading.first_content_at_ns,
            first_reasoning_at_ns=reading.first_reasoning_at_ns,
            first_tool_call_at_ns=reading.first_tool_call_at_ns,
            last_token_at_ns=self._last_token_at_ns(capture, reading),
            finished_at_ns=capture.finished_at_ns,
            http_status=capture.http_status,
            finish_reason=reading.finish_reason,
            error=error[:_MAX_ERROR_CHARS] if error else None,
            prompt_tokens=reading.prompt_tokens,
            cached_prompt_tokens=reading.cached_prompt_tokens,
            output_tokens=reading.output_tokens,
            reasoning_tokens=reading.reasoning_tokens,
            requested_prompt_tokens=meta.get("prompt_tokens"),
            requested_output_tokens=meta.get("max_tokens"),
            chunk_count=len(chunks),
            chunk_at_ns=tuple(chunks),
            chunk_tokens=_tokens_by_chunk(reading),
            shared_read_chunks=reading.shared_read_chunks,
            choice_count=len(reading.choices),
            response_id=reading.response_id,
            retries=capture.retries,
            stamp_source="kernel" if capture.is_kernel_stamped else "userspace",
            worker=self.worker,
            session=meta.get("session"),
            text="".join(reading.texts) if self.keep_text else None,
        )

    def _read(self, capture: Capture) -> Reading:
        if not self._came_as_stream(capture):
            return read_json(capture.body)
        return read_stream(capture.pieces(), started_at_ns=capture.sent_at_ns)

    def _came_as_stream(self, capture: Capture) -> bool:
        """Go by what was asked and by the content type; a failure status carries a document in either case."""
        if not self.is_streaming or "json" in capture.content_type:
            return False
        return capture.http_status is None or 200 <= capture.http_status < 300

    def _last_token_at_ns(self, capture: Capture, reading: Reading) -> int | None:
        """Return the last output chunk, or the end of the answer where it came whole."""
        if reading.chunk_at_ns:
            return reading.chunk_at_ns[-1]
        return capture.finished_at_ns if not self.is_streaming and capture.ending == "complete" else None

    def _judge(self, capture: Capture, reading: Reading) -> tuple[Outcome, str | None]:
        if capture.ending in _BY_ENDING:
            return _BY_ENDING[capture.ending], capture.error
        status = capture.http_status
        if status is not None and not 200 <= status < 300:
            return "http_error", f"HTTP {status}: {reading.error or _excerpt(capture.body)}"
        if reading.error:
            return "stream_error", reading.error
        if status is None:
            return "network_error", capture.error or "the connection closed before a response"
        if not self.is_streaming:
            return self._judge_document(capture, reading)
        return _judge_stream(capture, reading)

    def _judge_document(self, capture: Capture, reading: Reading) -> tuple[Outcome, str | None]:
        if capture.ending != "complete":
            return "truncated", capture.error
        if not reading.has_body:
            return "empty", f"HTTP {capture.http_status} without a body"
        if reading.unreadable is not None:
            return "bad_response", f"not a JSON document: {reading.unreadable}"
        if self.api == "embeddings":
            return "completed", None
        if reading.finish_reason is None:
            return "truncated", "the answer has no finish reason"
        return ("completed", None) if reading.output_tokens or reading.texts else ("empty", "an answer without output")


def _judge_stream(capture: Capture, reading: Reading) -> tuple[Outcome, str | None]:
    if capture.ending in {"closed_early", "reset"} and not reading.is_done:
        return "truncated", f"{capture.error} (after {len(reading.chunk_at_ns)} chunks)"
    if not reading.has_body:
        return "empty", f"HTTP {capture.http_status} without a body"
    if "json" in capture.content_type:
        return "bad_response", "one JSON document in place of a stream: the server ignored stream=true"
    if reading.unreadable is not None:
        return "bad_response", f"an event that is not JSON: {reading.unreadable}"
    if not reading.choices and not reading.is_done:
        kind = capture.content_type or "no content type"
        return "bad_response", f"not an event stream ({kind}): {_excerpt(capture.body)}"
    if reading.finish_reason is None:
        return "truncated", f"the stream ended without a finish reason after {len(reading.chunk_at_ns)} chunks"
    if not reading.chunk_at_ns:
        return "empty", "a whole stream without any output"
    return "completed", None


def _tokens_by_chunk(reading: Reading) -> tuple[int, ...] | None:
    """Return the growth of the running usage at each output chunk; ``None`` unless every chunk carried usage.

    The growth is meaningful for one choice only, since interleaved choices share one running total.
    """
    if not reading.chunk_usage or len(reading.choices) > 1:
        return None
    tokens = []
    previous = 0
    for counted in reading.chunk_usage:
        if counted is None or counted < previous:
            return None
        tokens.append(counted - previous)
        previous = counted
    return tuple(tokens)


def _excerpt(body: bytes) -> str:
    return " ".join(body[:200].decode("utf-8", "replace").split()) or "no body"
