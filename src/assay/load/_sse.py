"""Server-sent events from bytes, however they were split: the event stream grammar of the WHATWG HTML standard, 9.2.

Pure: bytes in, events out. One deliberate difference: at the end of the stream an event without its closing blank line
is handed out by ``finish`` (the standard drops it), because servers do end that way and the last usage is in it.
"""

from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One dispatched event."""

    data: bytes
    """The data lines, joined by line feeds."""
    event: bytes = b""
    """The event type; empty when the stream named none."""


class SseParser:
    """Splits a stream into events; ``feed`` it whatever a read delivered."""

    __slots__ = ("_at_start", "_data", "_event", "_last_was_cr", "_pieces", "comments")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []  # An unfinished line, kept in pieces: joining at each read would be O(n^2).
        self._data: list[bytes] = []
        self._event = b""
        self._last_was_cr = False
        self._at_start = True
        self.comments = 0

    def feed(self, data: bytes) -> list[SseEvent]:
        """Take the next bytes and return the events that they completed."""
        if self._last_was_cr and data:
            # A line feed right after a carriage return belongs to the same line end, even in another read.
            self._last_was_cr = False
            if data[:1] == b"\n":
                data = data[1:]
        if b"\n" not in data and b"\r" not in data:
            if data:
                self._pieces.append(data)
            return []
        self._last_was_cr = data.endswith(b"\r")
        return self._take_lines(b"".join((*self._pieces, data)))

    def finish(self) -> list[SseEvent]:
        """Say that the stream has ended and return the event that its last, unclosed lines make."""
        events = []
        if self._pieces:
            events += self._take_lines(b"".join((*self._pieces, b"\n")))
        self._dispatch(events)
        return events

    def _take_lines(self, buffer: bytes) -> list[SseEvent]:
        if self._at_start:
            self._at_start = False
            buffer = buffer.removeprefix(_BOM)
        # bytes.splitlines knows LF, CR and CRLF and nothing else, which is the standard's list.
        lines = buffer.splitlines()
        self._pieces = [] if buffer.endswith((b"\n", b"\r")) else [lines.pop()]
        events: list[SseEvent] = []
        for line in lines:
            if line:
                self._take_field(line)
            else:
                self._dispatch(events)
        return events

    def _take_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if not name:
            self.comments += 1
            return
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._event = value

    def _dispatch(self, events: list[SseEvent]) -> None:
        data = b"\n".join(self._data)
        if data:
            events.append(SseEvent(data, self._event))
        self._data.clear()
        self._event = b""
