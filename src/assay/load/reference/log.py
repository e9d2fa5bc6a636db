"""The reference server's own account: when each request had arrived and when each chunk was handed to the kernel."""

import struct
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_HEAD = struct.Struct("<qqI")


@dataclass(frozen=True, slots=True)
class ReferenceStream:
    """One answer as the server sent it; times are CLOCK_MONOTONIC."""

    serial: int
    """The answer's ``id`` is ``ref-<serial>``."""
    received_at_ns: int
    """When the last byte of the request had reached the server's host; when it was read, without kernel stamps."""
    send_at_ns: tuple[int, ...]
    """Just before each chunk's ``send``."""

    @property
    def response_id(self) -> str:
        """Return the ``id`` that the answer carried."""
        return f"ref-{self.serial}"

    @property
    def ttft_s(self) -> float:
        """Return what the server made of the time to first token: first send - request received."""
        return (self.send_at_ns[0] - self.received_at_ns) / 1e9


def pack_stream(serial: int, received_at_ns: int, send_at_ns: "array[int]") -> bytes:
    """Return one stream as a frame of the log."""
    return _HEAD.pack(serial, received_at_ns, len(send_at_ns)) + send_at_ns.tobytes()


def load_reference_log(path: Path) -> dict[str, ReferenceStream]:
    """Return the streams of a log by response id; a torn last frame is left out."""
    return {stream.response_id: stream for stream in _iter_streams(path.read_bytes())}


def _iter_streams(data: bytes) -> Iterator[ReferenceStream]:
    cursor = 0
    while cursor + _HEAD.size <= len(data):
        serial, received_at_ns, count = _HEAD.unpack_from(data, cursor)
        cursor += _HEAD.size
        stamps = data[cursor : cursor + 8 * count]
        cursor += 8 * count
        if len(stamps) == 8 * count:
            yield ReferenceStream(serial, received_at_ns, tuple(array("q", stamps)))
