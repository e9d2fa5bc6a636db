"""A load worker: a process that sends its part of the schedule and spools what the network delivered.

It is started as ``python -m assay.load._worker``, reads one ``Job`` line and then ``start <t0_ns>`` and ``close`` from
standard input, and reports lines of JSON on standard output. Answers are parsed elsewhere, afterwards. The end of
standard input means that the parent has died.
"""

import gc
import heapq
import json
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from assay.load._exchange import Exchange
from assay.load._job import Item, Job, iter_items
from assay.load._poller import READ, Poller, make_poller
from assay.load._spool import pack_capture
from assay.load._timer import raise_priority, set_fine_timers
from assay.load._transport import Transport

_TICK_NS = 50_000_000
_REPORT_NS = 200_000_000
_NAP_NS = 250_000
"""Longest pause between two looks at the sockets; chunks of one stream closer than this may share a read."""
_STDIN = 0
_STDOUT = 1
_ORPHANED = 3
_BEGINS_AT_ONCE = 16
"""Requests sent between two looks at the sockets: a burst of sends must not keep answers waiting."""
_BACKLOG_LIMIT = 256
"""Ended exchanges that may wait for a quiet moment to be spooled."""


class LoadWorker:
    """Sends the items of one job and spools a capture of each request."""

    def __init__(self, job: Job, items: Iterator[Item], spool: BinaryIO, poller: Poller) -> None:
        self._job, self._items, self._spool, self._poller = job, items, spool, poller
        self._transport = Transport(job, poller, self._on_end)
        self._start_ns: int | None = None
        self._close_ns: int | None = None
        self._is_closed = False
        self._next: Item | None = None
        # Requests whose due time is known only now: (due, tie-breaker, item, turn); without an item, a free slot.
        self._later: list[tuple[int, int, Item | None, int]] = []
        self._tie_breaker = 0
        self._last_begin_ns = 0
        self._open_sessions = 0  # Sessions with a turn in flight and more to come.
        self._next_tick_ns = 0
        self._next_report_ns = 0
        self._control = b""
        self._cpu_start_s = 0.0
        self._well = self._badly = 0
        # Ended, not yet spooled: packing an answer takes as long as twenty reads, and other streams are running.
        self._backlog: deque[Exchange] = deque()

    def run(self) -> None:
        """Connect ahead, wait for the start, carry out the schedule, drain, and report."""
        self._poller.add(_STDIN, READ)
        self._transport.preconnect(self._job.preconnect)
        _report({"ready": True})
        while self._start_ns is None:
            self._wait(_TICK_NS)
        self._cpu_start_s = time.process_time()
        self._fill(self._start_ns)
        while not self._is_over():
            self._step(self._start_ns)
        for exchange in list(self._transport.in_flight):
            self._transport.end(exchange, "censored", error="still running when the run ended")
        while self._backlog:
            self._spool_one()
        self._report_progress(is_final=True)

    def _step(self, start_ns: int) -> None:
        now_ns = time.monotonic_ns()
        self._transport.clock_map.observe()
        self._start_later(now_ns)
        self._start_scheduled(start_ns, now_ns)
        self._transport.cancel_due(now_ns)
        if self._close_ns is not None and now_ns >= self._close_ns:
            self._start_scheduled(start_ns, now_ns, at_most=sys.maxsize)
            self._close(now_ns)
        if now_ns >= self._next_tick_ns:
            self._tick(now_ns)
        timeout_ns = self._next_due_ns(start_ns) - time.monotonic_ns()
        had_events = self._wait(0 if self._backlog else timeout_ns)
        if self._backlog and (not had_events or len(self._backlog) > _BACKLOG_LIMIT):
            self._spool_one()
        elif had_events and self._job.is_kernel_stamped:
            self._nap(self._next_due_ns(start_ns) - time.monotonic_ns())

    def _nap(self, until_due_ns: int) -> None:
        """Let reads gather: the kernel has stamped them, and a look at the sockets costs as much as several reads."""
        nap_ns = min(_NAP_NS, until_due_ns)
        if nap_ns > 0:
            time.sleep(nap_ns / 1e9)

    def _wait(self, timeout_ns: int) -> bool:
        """React to what is ready within ``timeout_ns``; returns whether anything was."""
        on_ready = self._transport.on_ready
        events = self._poller.wait(timeout_ns)
        for fd, readiness in events:
            if fd == _STDIN:
                self._take_control()
            else:
                on_ready(fd, readiness)
        return bool(events)

    def _next_due_ns(self, start_ns: int) -> int:
        due_ns = self._next_tick_ns
        if self._next is not None and self._next.due_ns is not None:
            due_ns = min(due_ns, start_ns + self._next.due_ns)
        if self._later:
            due_ns = min(due_ns, self._later[0][0])
        cancel_ns = self._transport.next_cancel_ns()
        return due_ns if cancel_ns is None else min(due_ns, cancel_ns)

    def _tick(self, now_ns: int) -> None:
        self._next_tick_ns = now_ns + _TICK_NS
        self._transport.sweep(now_ns)
        if now_ns >= self._next_report_ns:
            self._next_report_ns = now_ns + _REPORT_NS
            self._report_progress()

    def _is_over(self) -> bool:
        if self._has_more_to_send():
            return False
        return not self._transport.in_flight or time.monotonic_ns() >= self._last_begin_ns + self._job.drain_ns

    def _has_more_to_send(self) -> bool:
        if self._is_closed:
            return False
        return self._next is not None or bool(self._later) or self._open_sessions > 0

    def _take_control(self) -> None:
        data = os.read(_STDIN, 4096)
        if not data:
            # The parent is gone: nobody will read the records, and a load must not go on alone.
            raise SystemExit(_ORPHANED)
        *lines, self._control = (self._control + data).split(b"\n")
        for line in lines:
            word, _, rest = line.partition(b" ")
            if word == b"start":
                self._start_ns = int(rest)
                if self._job.duration_ns is not None:
                    self._close_ns = self._start_ns + self._job.duration_ns
            elif word == b"close":
                now_ns = time.monotonic_ns()
                self._start_scheduled(self._start_ns or now_ns, now_ns, at_most=sys.maxsize)
                self._close(now_ns)

    def _close(self, now_ns: int) -> None:
        """Close the schedule: nothing new is sent, and what runs is given the drain time."""
        if not self._is_closed:
            self._is_closed = True
            self._next = None
            self._later.clear()
            self._close_ns = self._last_begin_ns = now_ns

    def _fill(self, start_ns: int) -> None:
        self._next = next(self._items, None)
        for _ in range(self._job.concurrency or 0):
            self._push(start_ns, None, 0)

    def _push(self, due_ns: int, item: Item | None, turn_number: int) -> None:
        if not self._is_closed:
            self._tie_breaker += 1
            heapq.heappush(self._later, (due_ns, self._tie_breaker, item, turn_number))

    def _start_later(self, now_ns: int) -> None:
        for _ in range(_BEGINS_AT_ONCE):
            if not self._later or self._later[0][0] > now_ns:
                return
            due_ns, _, item, turn_number = heapq.heappop(self._later)
            item = item or self._take_next()
            if item is not None:
                self._begin(item, turn_number, due_ns)

    def _take_next(self) -> Item | None:
        item, self._next = self._next, next(self._items, None)
        return item

    def _start_scheduled(self, start_ns: int, now_ns: int, at_most: int = _BEGINS_AT_ONCE) -> None:
        for _ in range(at_most):
            if self._next is None or self._next.due_ns is None:
                return
            due_ns = start_ns + self._next.due_ns
            if due_ns > now_ns or (self._close_ns is not None and due_ns >= self._close_ns):
                return
            item = self._take_next()
            if item is not None:
                self._begin(item, 0, due_ns)

    def _begin(self, item: Item, turn_number: int, scheduled_at_ns: int) -> None:
        self._last_begin_ns = time.monotonic_ns()
        if len(item.turns) > 1:
            self._open_sessions += (turn_number == 0) - (turn_number + 1 == len(item.turns))
        deadline_ns = self._last_begin_ns + self._job.deadline_ns
        exchange = Exchange(item, turn_number, scheduled_at_ns=scheduled_at_ns, deadline_ns=deadline_ns)
        if len(self._transport.in_flight) >= self._job.max_in_flight:
            limit = self._job.max_in_flight
            self._transport.end(exchange, "dropped", error=f"{limit} requests were in flight, the limit")
        else:
            self._transport.begin(exchange)

    def _on_end(self, exchange: Exchange) -> None:
        """Queue the exchange for the spool, and let the session's next turn or the freed slot follow."""
        self._backlog.append(exchange)
        went_well = exchange.went_well
        self._well += went_well
        self._badly += not went_well
        next_turn = exchange.turn_number + 1
        has_next = next_turn < len(exchange.item.turns)
        if has_next and went_well:
            due_ns = exchange.ended_at_ns + exchange.item.turns[next_turn].think_ns
            self._push(due_ns, exchange.item, next_turn)
            return
        if has_next:
            self._drop_rest(exchange)
        if self._job.concurrency is not None:
            self._push(exchange.ended_at_ns, None, 0)

    def _spool_one(self) -> None:
        self._transport.clock_map.observe()
        self._spool.write(pack_capture(self._backlog.popleft().capture(self._transport.clock_map)))

    def _drop_rest(self, failed: Exchange) -> None:
        """Record the turns that cannot follow a failed one, so that the outcomes add up to what was planned."""
        self._open_sessions -= 1
        now_ns = failed.ended_at_ns
        for turn_number in range(failed.turn_number + 1, len(failed.item.turns)):
            rest = Exchange(failed.item, turn_number, scheduled_at_ns=now_ns, deadline_ns=now_ns)
            rest.end("dropped", error="an earlier turn of its session failed", at_ns=now_ns, parser=None)
            self._backlog.append(rest)
            self._badly += 1

    def _report_progress(self, *, is_final: bool = False) -> None:
        transport = self._transport
        fields: dict[str, Any] = {
            "sent": transport.sent,
            "in_flight": len(transport.in_flight),
            "well": self._well,
            "badly": self._badly,
            "reads": transport.reads,
            "draining": not self._has_more_to_send(),
        }
        if is_final:
            fields |= {
                "final": True,
                "cpu_s": time.process_time() - self._cpu_start_s,
                "wall_s": (time.monotonic_ns() - (self._start_ns or 0)) / 1e9,
                "clock_steps": len(transport.clock_map.offsets) - 1,
                "unstamped": transport.unstamped_reads,
                "closed_at_ns": self._close_ns or self._last_begin_ns,
            }
        _report(fields)


def _report(fields: dict[str, Any]) -> None:
    os.write(_STDOUT, json.dumps(fields).encode() + b"\n")


def main() -> None:
    """Carry out the job on standard input."""
    # Ctrl-C reaches the whole process group; the parent decides what it means and tells us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    job = Job.from_line(_read_line(_STDIN))
    set_fine_timers()
    raise_priority()
    gc.collect()
    # Exchanges die by reference count; a collection in the middle of the load would only delay reads and sends.
    gc.disable()
    with Path(job.items_path).open("rb") as items, Path(job.spool_path).open("wb", buffering=0) as spool:
        LoadWorker(job, iter_items(items), spool, make_poller()).run()


def _read_line(fd: int) -> bytes:
    """Read one line byte by byte from a pipe, so that nothing of the next line is taken."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            sys.exit(_ORPHANED)
        line += byte
    return bytes(line)


if __name__ == "__main__":
    main()
