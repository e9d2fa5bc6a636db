"""What the transport saw of each request, appended to a spool file as the request ends.

A worker writes frames; the parent turns them into records afterwards. A frame is whole or it is ignored: its length and
CRC tell a torn tail, so a killed worker leaves exactly the requests that it had finished.
"""

import json
import struct
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, get_args

Ending = Literal[
    "complete",
    "done_but_open",
    "closed_early",
    "reset",
    "unreachable",
    "bad_http",
    "timed_out",
    "cancelled",
    "dropped",
    "censored",
    "client_error",
]
"""How the exchange ended for the transport; what the answer says is read later. ``done_but_open`` is a stream that said
[DONE] and then kept the connection open."""
_ENDINGS: tuple[Ending, ...] = get_args(Ending)
_ENDING_CODES = {ending: code for code, ending in enumerate(_ENDINGS)}
_FRAME = struct.Struct("<II")  # Length of the rest, CRC-32 of the rest.
_HEAD = struct.Struct("<6qhhBBIIII")
_UNKNOWN = -1


@dataclass(slots=True)
class Capture:
    """One request as the transport saw it; ``None`` means that it did not happen."""

    index: int
    meta: bytes
    """The planner's notes on the request (JSON), passed through the worker unread."""
    scheduled_at_ns: int
    connect_started_at_ns: int | None = None
    connected_at_ns: int | None = None
    sent_at_ns: int | None = None
    finished_at_ns: int | None = None
    ending: Ending = "complete"
    error: str = ""
    http_status: int | None = None
    content_type: str = ""
    retries: int = 0
    is_kernel_stamped: bool = False
    stamps_ns: list[int] = field(default_factory=list)
    """Arrival of each read, on the monotonic line."""
    lengths: list[int] = field(default_factory=list)
    """Body bytes of each read; 0 where a read held only the head or framing."""
    body: bytes = b""

    def pieces(self) -> Iterator[tuple[int, bytes]]:
        """Yield (arrival, body bytes) of each read."""
        start = 0
        for stamp, length in zip(self.stamps_ns, self.lengths, strict=True):
            yield stamp, self.body[start : start + length]
            start += length


def pack_capture(capture: Capture) -> bytes:
    """Return the capture as one frame."""
    notes = json.dumps([capture.error[:300], capture.content_type[:100]]).encode()
    head = _HEAD.pack(
        capture.index,
        capture.scheduled_at_ns,
        *(
            _UNKNOWN if value is None else value
            for value in (
                capture.connect_started_at_ns,
                capture.connected_at_ns,
                capture.sent_at_ns,
                capture.finished_at_ns,
            )
        ),
        _UNKNOWN if capture.http_status is None else capture.http_status,
        capture.retries,
        _ENDING_CODES[capture.ending],
        capture.is_kernel_stamped,
        len(capture.meta),
        len(notes),
        len(capture.stamps_ns),
        len(capture.body),
    )
    stamps, lengths = array("q", capture.stamps_ns), array("I", capture.lengths)
    rest = b"".join((head, capture.meta, notes, stamps.tobytes(), lengths.tobytes(), capture.body))
    return _FRAME.pack(len(rest), zlib.crc32(rest)) + rest


def iter_captures(path: Path) -> Iterator[Capture]:
    """Yield the captures of a spool file; ends quietly before a torn frame."""
    with path.open("rb") as stream:
        while (rest := _read_frame(stream)) is not None:
            yield _unpack_capture(rest)


def _read_frame(stream: BinaryIO) -> bytes | None:
    frame = stream.read(_FRAME.size)
    if len(frame) < _FRAME.size:
        return None
    length, checksum = _FRAME.unpack(frame)
    rest = stream.read(length)
    return rest if len(rest) == length and zlib.crc32(rest) == checksum else None


def _unpack_capture(rest: bytes) -> Capture:
    fields = _HEAD.unpack_from(rest)
    times = [None if value == _UNKNOWN else value for value in fields[2:6]]
    status, retries, ending, is_kernel_stamped, meta_size, notes_size, n_reads, body_size = fields[6:]
    cursor = _HEAD.size
    sections = []
    for size in (meta_size, notes_size, 8 * n_reads, 4 * n_reads, body_size):
        sections.append(rest[cursor : cursor + size])
        cursor += size
    meta, notes, stamps, lengths, body = sections
    error, content_type = json.loads(notes)
    return Capture(
        index=fields[0],
        meta=meta,
        scheduled_at_ns=fields[1],
        connect_started_at_ns=times[0],
        connected_at_ns=times[1],
        sent_at_ns=times[2],
        finished_at_ns=times[3],
        ending=_ENDINGS[ending],
        error=error,
        http_status=None if status == _UNKNOWN else status,
        content_type=content_type,
        retries=retries,
        is_kernel_stamped=bool(is_kernel_stamped),
        stamps_ns=array("q", stamps).tolist(),
        lengths=array("I", lengths).tolist(),
        body=body,
    )
