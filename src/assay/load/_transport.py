"""Carries exchanges over connections: connect, send, stamp each read, find the end, keep or close the connection.

Between a read and the next nothing is parsed but the framing that tells where a response ends. A request that met a
kept-alive connection which the server had just closed is sent once more on a fresh one; its record counts the retry.
"""

import errno
import os
import socket
import ssl
import time
from collections.abc import Callable
from heapq import heappop, heappush

from assay.load._connection import READ_BYTES, Connection, ConnectionPool, State
from assay.load._exchange import Exchange
from assay.load._http import HttpError
from assay.load._job import Job
from assay.load._poller import READ, WRITE, Poller
from assay.load._spool import Ending
from assay.load._stamps import ANCILLARY_BYTES, ClockMap, unpack_stamp

_WAIT_NS = 50_000_000
_DONE_GRACE_NS = 250_000_000
"""How long a stream that said [DONE] may take to end its response before the connection counts as left open."""
_CONNECTS_AT_ONCE = 64
"""Preconnects under way at a time: more would overflow a listen backlog and cost a one-second SYN retry."""
_OUR_FAULTS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
"""No descriptor, no memory, no ephemeral port: the generator's limits, not the server's."""
_MAY_BE_STALE = frozenset({"reset", "closed_early"})


class Transport:
    """The network side of one worker."""

    def __init__(self, job: Job, poller: Poller, on_end: Callable[[Exchange], None]) -> None:
        self._job, self._poller, self._on_end = job, poller, on_end
        self._pool = ConnectionPool(job, poller)
        self._head = job.head.encode("latin-1")
        self._cancels: list[tuple[int, int, Exchange]] = []
        self._next_done_sweep_ns = 0
        self.clock_map = ClockMap()
        self.in_flight: dict[Exchange, Connection | None] = {}
        self.sent = self.reads = self.unstamped_reads = 0

    def preconnect(self, count: int) -> None:
        """Open connections before the clock starts; what fails here is left for the first request to find."""
        give_up_at_ns = time.monotonic_ns() + self._job.connect_timeout_ns
        while time.monotonic_ns() < give_up_at_ns:
            under_way = len(self._pool.by_fd) - len(self._pool.idle)
            batch = min(count, _CONNECTS_AT_ONCE - under_way)
            count -= batch
            try:
                for _ in range(batch):
                    self._pool.open(time.monotonic_ns())
            except OSError:
                return
            if not count and not under_way + batch:
                return
            for fd, readiness in self._poller.wait(_WAIT_NS):
                self.on_ready(fd, readiness)

    def begin(self, exchange: Exchange) -> None:
        """Send a request on an idle connection, or open one for it."""
        self.in_flight[exchange] = None
        connection = self._pool.take()
        if connection is None:
            self._connect_for(exchange)
        else:
            self._send(connection, exchange)

    def on_ready(self, fd: int, readiness: int) -> None:
        """React to a descriptor of ours; others are ignored."""
        connection = self._pool.by_fd.get(fd)
        if connection is None:
            return
        if connection.is_settled:
            self._read(connection)
        elif connection.state is not State.OPEN:
            self._go_on_connecting(connection, readiness)
        else:
            self._flush(connection)
            if readiness != WRITE:
                self._read(connection)

    def sweep(self, now_ns: int) -> None:
        """End what has outlived its deadline or its [DONE]; called a few times a second."""
        overdue = [exchange for exchange in self.in_flight if exchange.deadline_ns <= now_ns]
        for exchange in overdue:
            connection = self.in_flight[exchange]
            is_connected = connection is not None and connection.state is State.OPEN
            self.end(exchange, "timed_out", error="no answer in time" if is_connected else "no connection in time")
        if now_ns >= self._next_done_sweep_ns:
            self._next_done_sweep_ns = now_ns + _DONE_GRACE_NS
            for exchange in [exchange for exchange in self.in_flight if exchange.has_gone_quiet_after_done()]:
                self.end(exchange, "done_but_open")

    def cancel_due(self, now_ns: int) -> None:
        """End what was to be cancelled by now."""
        while self._cancels and self._cancels[0][0] <= now_ns:
            _, _, exchange = heappop(self._cancels)
            if exchange in self.in_flight:
                self.end(exchange, "cancelled", error="cancelled after the planned time")

    def next_cancel_ns(self) -> int | None:
        """Return when the next planned cancellation is due."""
        return self._cancels[0][0] if self._cancels else None

    def end(self, exchange: Exchange, ending: Ending, *, error: str = "", keep: bool = False) -> None:
        """Take the exchange off its connection, close that unless ``keep``, and hand the exchange over."""
        connection = self.in_flight.pop(exchange, None)
        parser = None if connection is None else connection.parser
        exchange.end(ending, error=error, at_ns=time.monotonic_ns(), parser=parser)
        self.reads += len(exchange.stamps)
        if connection is not None:
            if keep:
                self._pool.give_back(connection)
            else:
                self._pool.close(connection)
        self._on_end(exchange)

    # Connecting.

    def _connect_for(self, exchange: Exchange) -> None:
        now_ns = time.monotonic_ns()
        exchange.connect_started_at_ns = now_ns
        try:
            connection = self._pool.open(now_ns)
        except OSError as error:
            self.end(exchange, "client_error" if error.errno in _OUR_FAULTS else "unreachable", error=_describe(error))
            return
        exchange.deadline_ns = min(exchange.deadline_ns, now_ns + self._job.connect_timeout_ns)
        connection.exchange = exchange
        self.in_flight[exchange] = connection

    def _go_on_connecting(self, connection: Connection, readiness: int) -> None:
        try:
            if connection.state is State.CONNECTING:
                is_open = self._finish_connect(connection)
            else:
                is_open = self._go_on_shaking_hands(connection, readiness)
        except (OSError, ssl.SSLError) as error:
            self._break(connection, "unreachable", _describe(error))
            return
        if is_open:
            self._on_connected(connection)

    def _finish_connect(self, connection: Connection) -> bool:
        code = connection.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        self._pool.watch_reads(connection)
        if connection.tls is None:
            return True
        connection.state = State.HANDSHAKING
        connection.tls.shake_hands(b"")
        self._pool.flush(connection, connection.tls.pending())
        return False

    def _go_on_shaking_hands(self, connection: Connection, readiness: int) -> bool:
        assert connection.tls is not None  # noqa: S101 - only TLS connections are in this state.
        if connection.outgoing and readiness & WRITE:
            self._pool.flush(connection)
        if not readiness & READ:
            return False
        try:
            received = connection.sock.recv(READ_BYTES)
        except BlockingIOError:
            return False
        if not received:
            raise ConnectionResetError(errno.ECONNRESET, "closed during the TLS handshake")
        is_open = connection.tls.shake_hands(received)
        self._pool.flush(connection, connection.tls.pending())
        return is_open

    def _on_connected(self, connection: Connection) -> None:
        connection.state = State.OPEN
        connection.is_settled = not connection.outgoing
        exchange = connection.exchange
        if exchange is None:
            self._pool.give_back(connection)
            return
        exchange.connected_at_ns = time.monotonic_ns()
        exchange.deadline_ns = exchange.connected_at_ns + self._job.deadline_ns
        self._send(connection, exchange)

    # Sending.

    def _send(self, connection: Connection, exchange: Exchange) -> None:
        connection.exchange = exchange
        self.in_flight[exchange] = connection
        exchange.is_kernel_stamped = connection.is_stamped
        body = exchange.turn.body
        data = b"%s%d\r\n\r\n%s" % (self._head, len(body), body)
        self.sent += exchange.retries == 0
        exchange.sent_at_ns = time.monotonic_ns()
        try:
            self._pool.send(connection, data)
        except OSError as error:
            self._break(connection, "reset", _describe(error))
            return
        if exchange.turn.cancel_after_ns is not None:
            heappush(
                self._cancels, (exchange.sent_at_ns + exchange.turn.cancel_after_ns, exchange.turn.index, exchange)
            )

    def _flush(self, connection: Connection) -> None:
        try:
            self._pool.flush(connection)
        except OSError as error:
            self._break(connection, "reset", _describe(error))

    # Reading.

    def _read(self, connection: Connection) -> None:
        """Take one read off the socket, stamp it and frame it. This is the hot path."""
        try:
            data, ancillary, _, _ = connection.recvmsg(READ_BYTES, ANCILLARY_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._break(connection, "reset", _describe(error))
            return
        exchange = connection.exchange
        if not data or exchange is None:
            self._on_end_of_stream(connection)
            return
        if ancillary:
            seconds, nanoseconds = unpack_stamp(ancillary[0][2])
            exchange.stamps.append(seconds * 1_000_000_000 + nanoseconds)
        else:
            self._stamp_here(exchange)
        try:
            if connection.tls is not None:
                data = connection.tls.decrypt(data)
            piece = connection.parser.feed(data)
        except (HttpError, ssl.SSLError) as error:
            exchange.pieces.append(b"")
            self._break(connection, "bad_http", str(error))
            return
        exchange.pieces.append(piece)
        if connection.parser.is_complete:
            self._complete(connection, exchange)
        elif exchange.chunks_left is not None and exchange.counts_down(piece):
            self.end(exchange, "cancelled", error="cancelled after the planned number of chunks")

    def _stamp_here(self, exchange: Exchange) -> None:
        """Stamp a read ourselves; among kernel stamps this stamp stands on their clock too."""
        offset_ns = 0
        if exchange.is_kernel_stamped:
            self.unstamped_reads += 1
            offset_ns = self.clock_map.offset_ns
        exchange.stamps.append(time.monotonic_ns() + offset_ns)

    def _complete(self, connection: Connection, exchange: Exchange) -> None:
        connection.is_used = True
        can_reuse = self._job.is_keep_alive and connection.parser.can_reuse and not connection.outgoing
        self.end(exchange, "complete", keep=can_reuse)

    def _on_end_of_stream(self, connection: Connection) -> None:
        exchange = connection.exchange
        if exchange is None:
            self._pool.close(connection)
            return
        try:
            connection.parser.finish()
        except HttpError as error:
            self._break(connection, "closed_early", str(error))
            return
        self.end(exchange, "complete")

    def _break(self, connection: Connection, ending: Ending, error: str) -> None:
        """End what ran on a broken connection, or send it once more where the connection was stale."""
        exchange = connection.exchange
        if exchange is None:
            self._pool.close(connection)
        elif ending in _MAY_BE_STALE and connection.is_used and not exchange.stamps and not exchange.retries:
            self._pool.close(connection)
            exchange.retries += 1
            self.in_flight[exchange] = None
            self._connect_for(exchange)
        else:
            self.end(exchange, ending, error=error)


def _describe(error: OSError) -> str:
    name = errno.errorcode.get(error.errno or 0, type(error).__name__)
    return f"{name}: {error.strerror or error}"
