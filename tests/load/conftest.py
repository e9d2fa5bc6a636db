"""Servers for the load tests: the reference server, and one that plays a scripted answer byte for byte."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from assay.load.reference import ReferenceServer, ReferenceTiming, start_reference_server

Step = bytes | float
"""Bytes to send, or seconds to wait."""


class ScriptedServer:
    """Answers the n-th request of the whole run with the n-th script (the last one again and again).

    A script that ends with ``CLOSE`` closes the connection, one that ends with ``RESET`` resets it.
    """

    CLOSE = b"\0close"
    RESET = b"\0reset"

    def __init__(self, scripts: Sequence[Sequence[Step]]) -> None:
        self.scripts = scripts
        self.requests: list[bytes] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()
        self._lock = threading.Lock()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(sock,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket) -> None:
        is_first = True
        with sock, suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while (request := _read_request(sock)) is not None:
                with self._lock:
                    self.connections += is_first
                    is_first = False
                    script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
                    self.requests.append(request)
                for step in script:
                    if step == self.CLOSE:
                        return
                    if step == self.RESET:
                        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                        return
                    if isinstance(step, float):
                        time.sleep(step)
                    else:
                        sock.sendall(step)


def _read_request(sock: socket.socket) -> bytes | None:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
    while len(body) < length:
        body += sock.recv(65536)
    return head + b"\r\n\r\n" + body


@pytest.fixture
def scripted() -> Iterator[Callable[[Sequence[Sequence[Step]]], ScriptedServer]]:
    servers: list[ScriptedServer] = []

    def start(scripts: Sequence[Sequence[Step]]) -> ScriptedServer:
        servers.append(ScriptedServer(scripts))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def reference(tmp_path: Path) -> Iterator[Callable[[ReferenceTiming], ReferenceServer]]:
    servers: list[ReferenceServer] = []

    def start(timing: ReferenceTiming) -> ReferenceServer:
        servers.append(start_reference_server(timing, tmp_path / f"reference-{len(servers)}.log"))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
