"""The work of one worker process: a file of request bodies, prepared before the run, and a job description.

Bodies are rendered by the parent, so that a worker only adds the length to a ready head and sends. The head can hold an
API key, so it travels in the job description through a pipe and never touches the disk.
"""

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import BinaryIO

_ITEM = struct.Struct("<qI")  # Due offset in nanoseconds (-1 in a closed loop), number of turns.
_TURN = struct.Struct("<qqqqII")  # Index, think time, cancel time, cancel chunks, size of the notes, size of the body.
_NEVER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One request, ready to be sent."""

    index: int
    think_ns: int = 0
    cancel_after_ns: int | None = None
    cancel_after_chunks: int | None = None
    meta: bytes
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One arrival: a request, or the turns of a session in their order."""

    due_ns: int | None
    """Offset from the start; ``None`` in a closed loop."""
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a worker must know before the start; sent as one line of JSON through its standard input."""

    worker: int
    items_path: str
    spool_path: str
    family: int
    address: tuple[str, int] | str
    """Resolved (host, port), or the path of a unix socket."""
    head: str
    """Request line and headers up to and including ``Content-Length: ``."""
    tls_host: str | None
    """Name to verify; ``None`` speaks plain text."""
    ca_file: str | None
    is_keep_alive: bool
    is_kernel_stamped: bool
    concurrency: int | None
    """Slots of this worker's part of a closed loop; ``None`` in an open loop."""
    preconnect: int
    deadline_ns: int
    drain_ns: int
    duration_ns: int | None
    connect_timeout_ns: int
    max_in_flight: int

    def to_line(self) -> bytes:
        """Return the job as one line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @staticmethod
    def from_line(line: bytes) -> "Job":
        """Read what ``to_line`` wrote."""
        fields = json.loads(line)
        if isinstance(fields["address"], list):
            fields["address"] = tuple(fields["address"])
        return Job(**fields)


def write_item(stream: BinaryIO, item: Item) -> None:
    """Append one arrival to an items file."""
    stream.write(_ITEM.pack(_NEVER if item.due_ns is None else item.due_ns, len(item.turns)))
    for turn in item.turns:
        limits = (turn.cancel_after_ns, turn.cancel_after_chunks)
        cancel_ns, cancel_chunks = (_NEVER if limit is None else limit for limit in limits)
        sizes = (len(turn.meta), len(turn.body))
        stream.write(_TURN.pack(turn.index, turn.think_ns, cancel_ns, cancel_chunks, *sizes))
        stream.write(turn.meta)
        stream.write(turn.body)


def iter_items(stream: BinaryIO) -> Iterator[Item]:
    """Yield the arrivals of an items file, one in memory at a time."""
    while len(start := stream.read(_ITEM.size)) == _ITEM.size:
        due_ns, n_turns = _ITEM.unpack(start)
        turns = tuple(_read_turn(stream) for _ in range(n_turns))
        yield Item(due_ns=None if due_ns == _NEVER else due_ns, turns=turns)


def _read_turn(stream: BinaryIO) -> Turn:
    index, think_ns, cancel_ns, cancel_chunks, meta_size, body_size = _TURN.unpack(stream.read(_TURN.size))
    return Turn(
        index=index,
        think_ns=think_ns,
        cancel_after_ns=None if cancel_ns == _NEVER else cancel_ns,
        cancel_after_chunks=None if cancel_chunks == _NEVER else cancel_chunks,
        meta=stream.read(meta_size),
        body=stream.read(body_size),
    )
