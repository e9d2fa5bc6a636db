"""The reference server's process: one loop, timers to the microsecond, a stamp before every send.

It shares with the load generator the poller and the timer set-up, and nothing of what is measured: it builds its own
responses, keeps its own times, and reads requests itself. A request's arrival is the kernel's receive timestamp where
there is one, so that a loop that is busy sending does not pass for the client's error. It leaves when its standard input
ends.
"""

import gc
import heapq
import json
import os
import re
import signal
import socket
import struct
import sys
import time
from array import array
from collections import deque
from pathlib import Path
from typing import Any, BinaryIO

from assay.load._poller import READ, WRITE, Poller, make_poller
from assay.load._timer import raise_priority, set_fine_timers
from assay.load.reference.log import pack_stream
from assay.load.reference.timing import ReferenceTiming

_BACKLOG = 4096
_IDLE_NS = 1_000_000_000
_STDIN = 0
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]+)", re.IGNORECASE)
_WORD = "word "
_SO_TIMESTAMPING = 37
_RECEIVE_STAMPS = (1 << 3) | (1 << 4)  # SOF_TIMESTAMPING_RX_SOFTWARE and SOF_TIMESTAMPING_SOFTWARE.
_TIMESPEC = struct.Struct("=qq")
_TIGHT_NS = 5_000
"""Clock readings further apart than this were interrupted and say nothing of the difference of the clocks."""
_EMBEDDING = [0.0, 1.0, 0.0, -1.0]
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)


class _Client:
    """One connection."""

    __slots__ = ("fd", "received", "sock", "unsent")

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.fd = sock.fileno()
        self.received = b""
        self.unsent = b""


class _Stream:
    """One answer under way."""

    __slots__ = ("chunk", "client", "interval_ns", "last", "left", "received_at_ns", "sends", "serial")

    def __init__(self, client: _Client, serial: int, received_at_ns: int) -> None:
        self.client, self.serial, self.received_at_ns = client, serial, received_at_ns
        self.sends = array("q")
        self.chunk = self.last = b""
        self.left = 0
        self.interval_ns = 0


class _ArrivalClock:
    """When a read's bytes reached this host: the kernel's stamp on the monotonic line, or the time of the read."""

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def watch(self, sock: socket.socket) -> None:
        if sys.platform == "linux":
            sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _RECEIVE_STAMPS)

    def of(self, ancillary: list[tuple[int, int, bytes]]) -> int:
        before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        if after - before < _TIGHT_NS:
            self._offset_ns = real - (before + after) // 2
        for _, kind, data in ancillary:
            if kind == _SO_TIMESTAMPING:
                stamp: tuple[int, int] = _TIMESPEC.unpack_from(data)
                return min(stamp[0] * 1_000_000_000 + stamp[1] - self._offset_ns, after)
        return after


class _Server:
    def __init__(self, timing: ReferenceTiming, listener: socket.socket, log: BinaryIO, poller: Poller) -> None:
        self._timing, self._listener, self._log, self._poller = timing, listener, log, poller
        self._clients: dict[int, _Client] = {}
        self._due: list[tuple[int, int, _Stream]] = []
        self._waiting: deque[tuple[_Stream, dict[str, Any], bool]] = deque()
        self._running = 0
        self._serial = 0
        self._tie_breaker = 0
        self._stall: tuple[int, int] | None = None
        self._ttft_ns = round(timing.ttft_s * 1e9)
        self._itl_ns = round(timing.itl_s * 1e9)
        self._arrivals = _ArrivalClock()

    def run(self) -> None:
        self._poller.add(self._listener.fileno(), READ)
        self._poller.add(_STDIN, READ)
        while True:
            self._send_due()
            timeout_ns = self._due[0][0] - time.monotonic_ns() if self._due else _IDLE_NS
            for fd, readiness in self._poller.wait(timeout_ns):
                if fd == _STDIN:
                    if not os.read(_STDIN, 4096):
                        return
                elif fd == self._listener.fileno():
                    self._accept()
                elif fd in self._clients:
                    self._on_ready(self._clients[fd], readiness)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except BlockingIOError:
                return
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._arrivals.watch(sock)
            client = _Client(sock)
            self._clients[client.fd] = client
            self._poller.add(client.fd, READ)

    def _on_ready(self, client: _Client, readiness: int) -> None:
        if readiness & WRITE and client.unsent:
            self._send(client, b"")
        if not readiness & READ:
            return
        try:
            data, ancillary, _, _ = client.sock.recvmsg(1 << 16, 128)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        if not data:
            self._drop(client)
            return
        client.received += data
        self._take_requests(client, self._arrivals.of(ancillary))

    def _take_requests(self, client: _Client, received_at_ns: int) -> None:
        while (end := client.received.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(client.received, 0, end + 2)
            size = end + 4 + (int(length[1]) if length else 0)
            if len(client.received) < size:
                return
            head, body = client.received[:end], client.received[end + 4 : size]
            client.received = client.received[size:]
            self._answer(client, head, body, received_at_ns)

    def _answer(self, client: _Client, head: bytes, body: bytes, received_at_ns: int) -> None:
        method, path, *_ = head.split(b" ", 2)
        if method == b"GET":
            models = {"object": "list", "data": [{"id": "reference", "object": "model", "max_model_len": 1 << 20}]}
            self._send(client, _document(models))
            return
        request = json.loads(body or b"{}")
        self._serial += 1
        stream = _Stream(client, self._serial, received_at_ns)
        if path.endswith(b"/embeddings"):
            self._embed(stream)
            return
        is_chat = path.endswith(b"/chat/completions")
        if self._timing.slots is not None and self._running >= self._timing.slots:
            self._waiting.append((stream, request, is_chat))
        else:
            self._begin(stream, request, is_chat, received_at_ns)

    def _begin(self, stream: _Stream, request: dict[str, Any], is_chat: bool, now_ns: int) -> None:
        self._running += 1
        if self._stall is None and self._timing.stall_at_s is not None:
            start_ns = now_ns + round(self._timing.stall_at_s * 1e9)
            self._stall = start_ns, start_ns + round(self._timing.stall_s * 1e9)
        tokens = request.get("max_completion_tokens") or request.get("max_tokens") or self._timing.default_tokens
        per_chunk = min(self._timing.tokens_per_chunk, tokens)
        stream.left = -(-tokens // per_chunk)
        if request.get("stream"):
            stream.interval_ns = self._itl_ns
            stream.chunk = _framed(_event(stream.serial, is_chat, text=_WORD * per_chunk))
            stream.last = _framed(_ending(stream.serial, is_chat, tokens)) + b"0\r\n\r\n"
            self._send(stream.client, _STREAM_HEAD)
            first_ns = now_ns + self._ttft_ns
        else:
            first_ns = now_ns + self._ttft_ns + (stream.left - 1) * self._itl_ns
            stream.left, stream.last = 1, b""
            stream.chunk = _document(_whole(stream.serial, is_chat, tokens))
        self._push(first_ns, stream)

    def _embed(self, stream: _Stream) -> None:
        """Answer with one vector after the time to first token; it waits for no slot."""
        self._running += 1
        stream.left, stream.chunk = 1, _document(_embedding(stream.serial))
        self._push(stream.received_at_ns + self._ttft_ns, stream)

    def _push(self, due_ns: int, stream: _Stream) -> None:
        self._tie_breaker += 1
        heapq.heappush(self._due, (due_ns, self._tie_breaker, stream))

    def _send_due(self) -> None:
        now_ns = time.monotonic_ns()
        due = self._due
        if self._stall is not None and self._stall[0] <= now_ns < self._stall[1]:
            time.sleep((self._stall[1] - now_ns) / 1e9)
        sent = 0
        while due and due[0][0] <= now_ns and sent < 256:
            due_ns, tie_breaker, stream = due[0]
            stream.left -= 1
            stream.sends.append(time.monotonic_ns())
            self._send(stream.client, stream.chunk)
            sent += 1
            if stream.left:
                heapq.heapreplace(due, (due_ns + stream.interval_ns, tie_breaker, stream))
            else:
                heapq.heappop(due)
                self._finish(stream)

    def _finish(self, stream: _Stream) -> None:
        if stream.last:
            self._send(stream.client, stream.last)
        self._log.write(pack_stream(stream.serial, stream.received_at_ns, stream.sends))
        self._running -= 1
        if self._waiting:
            waiting, request, is_chat = self._waiting.popleft()
            self._begin(waiting, request, is_chat, time.monotonic_ns())

    def _send(self, client: _Client, data: bytes) -> None:
        if client.unsent:
            data = client.unsent + data
        try:
            sent = client.sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            client.unsent = b""
            return
        had_unsent = bool(client.unsent)
        client.unsent = data[sent:]
        if bool(client.unsent) != had_unsent:
            self._poller.change(client.fd, READ | WRITE if client.unsent else READ)

    def _drop(self, client: _Client) -> None:
        """Forget a client; its streams go on to nowhere and keep their place in the log."""
        self._poller.remove(client.fd)
        del self._clients[client.fd]
        client.sock.close()


def _framed(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _line(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document, separators=(",", ":")).encode() + b"\n\n"


def _base(serial: int, is_chat: bool) -> dict[str, Any]:
    kind = "chat.completion.chunk" if is_chat else "text_completion"
    return {"id": f"ref-{serial}", "object": kind, "created": 0, "model": "reference"}


def _event(serial: int, is_chat: bool, *, text: str | None, finish: str | None = None) -> bytes:
    delta = {"content": text} if text else {}
    choice: dict[str, Any] = {"index": 0} | ({"delta": delta} if is_chat else {"text": text or ""})
    return _line(_base(serial, is_chat) | {"choices": [choice | {"finish_reason": finish}]})


def _usage(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 8, "completion_tokens": tokens, "total_tokens": 8 + tokens}


def _ending(serial: int, is_chat: bool, tokens: int) -> bytes:
    finish = _event(serial, is_chat, text=None, finish="length")
    return finish + _line(_base(serial, is_chat) | {"choices": [], "usage": _usage(tokens)}) + b"data: [DONE]\n\n"


def _whole(serial: int, is_chat: bool, tokens: int) -> dict[str, Any]:
    text = _WORD * tokens
    part = {"message": {"role": "assistant", "content": text}} if is_chat else {"text": text}
    choice = {"index": 0, "finish_reason": "length"} | part
    kind = "chat.completion" if is_chat else "text_completion"
    return _base(serial, is_chat) | {"object": kind, "choices": [choice], "usage": _usage(tokens)}


def _embedding(serial: int) -> dict[str, Any]:
    data = [{"object": "embedding", "index": 0, "embedding": _EMBEDDING}]
    usage = {"prompt_tokens": 8, "total_tokens": 8}
    return {"id": f"ref-{serial}", "object": "list", "model": "reference", "data": data, "usage": usage}


def _document(document: dict[str, Any]) -> bytes:
    body = json.dumps(document).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def _read_arguments() -> dict[str, Any]:
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(_STDIN, 1)
        if not byte:
            sys.exit(3)
        line += byte
    arguments: dict[str, Any] = json.loads(line)
    return arguments


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    arguments = _read_arguments()
    set_fine_timers()
    raise_priority()
    gc.disable()
    listener = socket.create_server(("127.0.0.1", arguments["port"]), backlog=_BACKLOG)
    listener.setblocking(False)
    with Path(arguments["log_path"]).open("wb") as log:
        server = _Server(ReferenceTiming(**arguments["timing"]), listener, log, make_poller())
        os.write(1, json.dumps({"port": listener.getsockname()[1]}).encode() + b"\n")
        server.run()


if __name__ == "__main__":
    main()
