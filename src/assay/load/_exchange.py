"""One request under way: its turn, its times, and the raw reads of its answer."""

from assay.load._http import ResponseParser
from assay.load._job import Item, Turn
from assay.load._spool import Capture, Ending
from assay.load._sse import SseParser
from assay.load._stamps import ClockMap

_DONE = b"[DONE]"
_TAIL_READS = 8
"""[DONE] may be split between reads, though hardly over more than these."""
_GOOD_ENDINGS = frozenset({"complete", "done_but_open", "cancelled"})
_SLACK_NS = 50_000
"""How far two readings of the clocks may disagree; smaller than any step that is told from noise."""


class Exchange:
    """State of one request; the worker fills it in, ``capture`` hands it over."""

    __slots__ = (
        "chunks_left",
        "connect_started_at_ns",
        "connected_at_ns",
        "deadline_ns",
        "ended_at_ns",
        "ending",
        "error",
        "is_kernel_stamped",
        "item",
        "parser",
        "pieces",
        "reads_judged",
        "reads_seen",
        "retries",
        "scheduled_at_ns",
        "sent_at_ns",
        "stamps",
        "turn_number",
    )

    def __init__(self, item: Item, turn_number: int, *, scheduled_at_ns: int, deadline_ns: int) -> None:
        self.item = item
        self.turn_number = turn_number
        self.scheduled_at_ns = scheduled_at_ns
        self.deadline_ns = deadline_ns
        self.connect_started_at_ns: int | None = None
        self.connected_at_ns: int | None = None
        self.sent_at_ns: int | None = None
        self.retries = 0
        self.stamps: list[int] = []
        self.pieces: list[bytes] = []
        self.is_kernel_stamped = False
        self.reads_seen = self.reads_judged = 0
        self.chunks_left = self.turn.cancel_after_chunks
        self.ending: Ending = "censored"
        self.error = ""
        self.ended_at_ns = scheduled_at_ns
        self.parser: ResponseParser | None = None

    @property
    def turn(self) -> Turn:
        """The request of this exchange."""
        return self.item.turns[self.turn_number]

    def has_gone_quiet_after_done(self) -> bool:
        """Return True when nothing has come since the last look and the stream's last event was ``[DONE]``.

        The words may also stand in generated text, so the stream is parsed, once for each state that it rests in.
        """
        reads = len(self.stamps)
        is_quiet, self.reads_seen = reads == self.reads_seen, reads
        if not is_quiet or reads == self.reads_judged:
            return False
        self.reads_judged = reads
        return _DONE in b"".join(self.pieces[-_TAIL_READS:]) and self._ends_with_done()

    def counts_down(self, piece: bytes) -> bool:
        """Return True when the chosen number of events has come after which this request is to be cancelled."""
        if self.chunks_left is None:
            return False
        self.chunks_left -= piece.count(b"data:")
        return self.chunks_left <= 0

    def end(self, ending: Ending, *, error: str, at_ns: int, parser: ResponseParser | None) -> None:
        """Note how it ended; costs nothing, since other streams may be waiting to be read."""
        self.ending, self.error, self.ended_at_ns, self.parser = ending, error, at_ns, parser

    @property
    def went_well(self) -> bool:
        """True when, for the transport, an answer came: what it says is judged later."""
        return self.ending in _GOOD_ENDINGS and self.parser is not None and self.parser.status in range(200, 300)

    def capture(self, clock_map: ClockMap) -> Capture:
        """Return what the transport saw; the raw stamps come onto the monotonic line here.

        A whole answer ended with its last read; any other ending is dated by the worker.
        """
        stamps_ns = self._map_stamps(clock_map, self.ended_at_ns)
        is_dated = self.ending in {"complete", "done_but_open"} and bool(stamps_ns)
        headers = self.parser.headers if self.parser else {}
        return Capture(
            index=self.turn.index,
            meta=self.turn.meta,
            scheduled_at_ns=self.scheduled_at_ns,
            connect_started_at_ns=self.connect_started_at_ns,
            connected_at_ns=self.connected_at_ns,
            sent_at_ns=self.sent_at_ns,
            finished_at_ns=stamps_ns[-1] if is_dated else self.ended_at_ns,
            ending=self.ending,
            error=self.error,
            http_status=self.parser.status if self.parser else None,
            content_type=headers.get("content-type", ""),
            retries=self.retries,
            is_kernel_stamped=self.is_kernel_stamped,
            stamps_ns=stamps_ns,
            lengths=[len(piece) for piece in self.pieces],
            body=b"".join(self.pieces),
        )

    def _map_stamps(self, clock_map: ClockMap, finished_at_ns: int) -> list[int]:
        if not self.is_kernel_stamped:
            return self.stamps
        if len(clock_map.offsets) == 1:
            offset = clock_map.offset_ns
            return [stamp - offset for stamp in self.stamps]
        mapped: list[int] = []
        floor = self.sent_at_ns or self.scheduled_at_ns
        ceiling = finished_at_ns + _SLACK_NS
        for stamp in self.stamps:
            placed = clock_map.to_monotonic_ns(stamp, not_before_ns=floor - _SLACK_NS, not_after_ns=ceiling)
            # A stamp that no known difference can place is replaced by the last time that is known to be before it.
            floor = floor if placed is None else placed
            mapped.append(floor)
        return mapped

    def _ends_with_done(self) -> bool:
        parser = SseParser()
        events = parser.feed(b"".join(self.pieces)) + parser.finish()
        return bool(events) and events[-1].data.strip() == _DONE
