"""One TCP, TLS or unix-socket connection of a worker, non-blocking, stamped by the kernel where it can be.

TLS runs over memory buffers, so that the socket is still read by ``recvmsg`` and the stamp is that of the ciphertext
record. Proxy variables are never read here.
"""

import contextlib
import socket
import ssl
from enum import Enum, auto

from assay.load._exchange import Exchange
from assay.load._http import ResponseParser
from assay.load._job import Job
from assay.load._poller import READ, WRITE, Poller
from assay.load._stamps import enable_kernel_stamps

READ_BYTES = 1 << 16


class State(Enum):
    """Where a connection stands."""

    CONNECTING = auto()
    HANDSHAKING = auto()
    OPEN = auto()


class Connection:
    """A socket, what is left to send on it, and the exchange that uses it now."""

    __slots__ = (
        "connect_started_at_ns",
        "connected_at_ns",
        "exchange",
        "fd",
        "is_settled",
        "is_stamped",
        "is_used",
        "outgoing",
        "parser",
        "recvmsg",
        "sock",
        "state",
        "tls",
    )

    def __init__(self, sock: socket.socket, *, tls: "TlsSession | None", started_at_ns: int, is_stamped: bool) -> None:
        self.sock = sock
        self.fd = sock.fileno()
        self.recvmsg = sock.recvmsg
        self.tls = tls
        self.state = State.CONNECTING
        self.outgoing = b""
        self.is_settled = False
        """True when the connection stands and nothing waits to be sent: whatever it is ready for is a read."""
        self.exchange: Exchange | None = None
        self.parser = ResponseParser()
        self.connect_started_at_ns = started_at_ns
        self.connected_at_ns: int | None = None
        self.is_stamped = is_stamped
        self.is_used = False
        """True once it has carried a whole response; the server may then close it at any moment."""


class TlsSession:
    """TLS over memory buffers."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    def shake_hands(self, received: bytes) -> bool:
        """Take handshake bytes; returns True when the session stands. Raises ``ssl.SSLError``."""
        self._incoming.write(received)
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def encrypt(self, data: bytes) -> bytes:
        """Return the records that carry ``data``."""
        self._object.write(data)
        return self.pending()

    def decrypt(self, received: bytes) -> bytes:
        """Return the plain text in ``received``; raises ``ssl.SSLError``."""
        self._incoming.write(received)
        pieces: list[bytes] = []
        try:
            while piece := self._object.read(READ_BYTES):
                pieces.append(piece)
        except ssl.SSLWantReadError:
            pass
        return b"".join(pieces)

    def pending(self) -> bytes:
        """Return what the session wants sent."""
        return self._outgoing.read()


class ConnectionPool:
    """The connections of one worker; the one used last is taken first, since it is the least likely to be stale."""

    def __init__(self, job: Job, poller: Poller) -> None:
        self._job = job
        self._poller = poller
        self._context = _make_context(job) if job.tls_host is not None else None
        self.idle: list[Connection] = []
        self.by_fd: dict[int, Connection] = {}

    def open(self, now_ns: int) -> Connection:
        """Start to connect; raises ``OSError`` at once when there is no descriptor or no route."""
        sock = socket.socket(self._job.family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            if sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # Unix sockets carry no receive timestamps.
            wants_stamps = self._job.is_kernel_stamped and sock.family != socket.AF_UNIX
            is_stamped = wants_stamps and enable_kernel_stamps(sock)
            with contextlib.suppress(BlockingIOError):
                sock.connect(self._job.address)
        except OSError:
            sock.close()
            raise
        tls = TlsSession(self._context, self._job.tls_host) if self._context and self._job.tls_host else None
        connection = Connection(sock, tls=tls, started_at_ns=now_ns, is_stamped=is_stamped)
        self.by_fd[connection.fd] = connection
        self._poller.add(connection.fd, READ | WRITE)
        return connection

    def take(self) -> Connection | None:
        """Return an idle connection, or ``None``."""
        return self.idle.pop() if self.idle else None

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next request."""
        connection.exchange = None
        connection.parser = ResponseParser()
        self.idle.append(connection)

    def close(self, connection: Connection) -> None:
        """Close a connection, wherever it stands."""
        self._poller.remove(connection.fd)
        del self.by_fd[connection.fd]
        if connection.exchange is None and connection in self.idle:
            self.idle.remove(connection)
        connection.sock.close()

    def send(self, connection: Connection, data: bytes) -> None:
        """Send ``data`` (or queue what does not fit now); raises ``OSError``."""
        if connection.tls:
            data = connection.tls.encrypt(data)
        self.flush(connection, data)

    def flush(self, connection: Connection, data: bytes = b"") -> None:
        """Send what is queued and then ``data``, and watch for room as long as something is left."""
        had_queue = bool(connection.outgoing)
        data = connection.outgoing + data if had_queue else data
        if data:
            with contextlib.suppress(BlockingIOError):
                data = data[connection.sock.send(data) :]
        connection.outgoing = data
        connection.is_settled = not data and connection.state is State.OPEN
        if had_queue or data:
            self._poller.change(connection.fd, READ | WRITE if data else READ)

    def watch_reads(self, connection: Connection) -> None:
        """Stop watching for room once the connection stands."""
        self._poller.change(connection.fd, READ)


def _make_context(job: Job) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=job.ca_file)
    context.set_alpn_protocols(["http/1.1"])
    return context
