"""One HTTP/1.1 response from bytes, however they were split (RFC 9112), strict, with a fast way for streamed chunks.

Pure. It runs between two reads of the load worker, to know where a response ends, so the usual case (one read, one
chunk) costs one ``find`` and one look-up. Left out: trailers are read and dropped, and content codings are refused,
since the request asks for ``identity``.
"""

import re
from collections.abc import Callable, Mapping

_MAX_HEAD_BYTES = 1 << 16
_MAX_CHUNK_LINE_BYTES = 4096
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9]{2})(?: [^\r\n]*)?")
_FIELD_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")
_KNOWN_SIZES: dict[bytes, int] = {}
_KNOWN_SIZES_LIMIT = 4096
_SIZE_LINE_BYTES = 18
"""Longest size line, its end included, that the fast way looks for."""


class HttpError(ValueError):
    """The peer does not speak HTTP/1.1 as RFC 9112 has it."""


_Step = Callable[["ResponseParser", list[bytes]], bool]


class ResponseParser:
    """Reads one response; ``feed`` returns the body bytes that a read completed.

    Its state is the method that takes the next element off the buffer; each returns False when more bytes are needed.
    It is kept unbound, since a bound one would make a cycle and workers run without the cycle collector.
    """

    __slots__ = ("_buffer", "_left", "_minor", "_take", "headers", "is_complete", "status")

    def __init__(self) -> None:
        self._take: _Step = ResponseParser._take_head
        self._buffer = b""
        self._left = 0
        self._minor = 1
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.is_complete = False
        """True when the whole response has been read."""

    @property
    def can_reuse(self) -> bool:
        """True when the connection may carry another request after this response."""
        if not self.is_complete or self._buffer:
            return False
        connection = self.headers.get("connection", "").lower()
        return "close" not in connection and (self._minor == 1 or "keep-alive" in connection)

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes and return the body in them; raises ``HttpError``."""
        if self._take is not ResponseParser._take_chunk_size or self._buffer:
            return self._feed_slowly(data)
        # Whole chunks of a size seen before, which is nearly all of a stream, need no state.
        start, pieces = 0, []
        while True:
            end = data.find(b"\r\n", start, start + _SIZE_LINE_BYTES)
            size = _KNOWN_SIZES.get(data[start:end])
            if size is None:
                break
            stop = end + 2 + size
            if data[stop : stop + 2] != b"\r\n":
                break
            if start == 0 and stop + 2 == len(data):
                return data[end + 2 : stop]
            pieces.append(data[end + 2 : stop])
            start = stop + 2
        pieces.append(self._feed_slowly(data[start:]))
        return b"".join(pieces)

    def finish(self) -> None:
        """Say that the peer closed the connection; raises ``HttpError`` when the response is not whole by then."""
        if self._take is ResponseParser._take_until_close:
            self.is_complete = True
        elif not self.is_complete:
            raise HttpError("the connection closed inside the response")

    def _feed_slowly(self, data: bytes) -> bytes:
        self._buffer += data
        body: list[bytes] = []
        while self._take(self, body):
            pass
        return b"".join(body)

    def _take_head(self, _body: list[bytes]) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_HEAD_BYTES:
                raise HttpError(f"the response head is longer than {_MAX_HEAD_BYTES} bytes")
            if not b"HTTP/1.".startswith(self._buffer[:7]):
                raise HttpError(f"not HTTP/1.x: {self._buffer[:40]!r}")
            return False
        head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
        lines = head.split(b"\r\n")
        status = _STATUS_LINE.fullmatch(lines[0])
        if not status:
            raise HttpError(f"not an HTTP/1.x status line: {lines[0][:40]!r}")
        self._minor, self.status = int(status[1]), int(status[2])
        self.headers = _parse_fields(lines[1:])
        self._choose_framing()
        return True

    def _choose_framing(self) -> None:
        status, headers = self.status or 0, self.headers
        if status == 101:
            raise HttpError("the server switched protocols")
        if status < 200:
            self._take = ResponseParser._take_head  # An interim response such as 103; the real one follows.
        elif status in {204, 304}:
            self._complete()
        elif (coding := headers.get("transfer-encoding")) is not None:
            if coding.lower() != "chunked":
                raise HttpError(f"transfer-encoding: got {coding[:40]!r}, want chunked")
            self._take = ResponseParser._take_chunk_size
        elif (length := headers.get("content-length")) is not None:
            if not (length.isascii() and length.isdigit()):
                raise HttpError(f"content-length: got {length[:40]!r}, want digits")
            self._left = int(length)
            self._take = ResponseParser._take_data
            if not self._left:
                self._complete()
        else:
            self._take = ResponseParser._take_until_close

    def _take_chunk_size(self, _body: list[bytes]) -> bool:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_CHUNK_LINE_BYTES:
                raise HttpError("a chunk-size line has no end")
            return False
        line = self._buffer[:end]
        size = _CHUNK_SIZE.fullmatch(line)
        if not size:
            raise HttpError(f"not a chunk size: {line[:40]!r}")
        self._left = int(size[1], 16)
        if self._left and end < _SIZE_LINE_BYTES - 1 and len(_KNOWN_SIZES) < _KNOWN_SIZES_LIMIT:
            _KNOWN_SIZES[line] = self._left
        self._buffer = self._buffer[end + 2 :]
        self._take = ResponseParser._take_chunk if self._left else ResponseParser._take_trailer
        return True

    def _take_chunk(self, body: list[bytes]) -> bool:
        if self._take_left(body) and self._left == 0:
            self._take = ResponseParser._take_chunk_end
            return True
        return False

    def _take_data(self, body: list[bytes]) -> bool:
        if self._take_left(body) and self._left == 0:
            self._complete()
        return False

    def _take_left(self, body: list[bytes]) -> bool:
        """Take what is there of the ``_left`` bytes; returns True when that was something."""
        piece = self._buffer[: self._left]
        body.append(piece)
        self._buffer = self._buffer[len(piece) :]
        self._left -= len(piece)
        return bool(piece)

    def _take_until_close(self, body: list[bytes]) -> bool:
        body.append(self._buffer)
        self._buffer = b""
        return False

    def _take_nothing(self, _body: list[bytes]) -> bool:
        return False

    def _complete(self) -> None:
        self.is_complete = True
        self._take = ResponseParser._take_nothing

    def _take_chunk_end(self, _body: list[bytes]) -> bool:
        if len(self._buffer) < 2:
            return False
        if not self._buffer.startswith(b"\r\n"):
            raise HttpError(f"a chunk is longer than its size: {self._buffer[:20]!r}")
        self._buffer = self._buffer[2:]
        self._take = ResponseParser._take_chunk_size
        return True

    def _take_trailer(self, _body: list[bytes]) -> bool:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_HEAD_BYTES:
                raise HttpError("the trailers have no end")
            return False
        is_last, self._buffer = end == 0, self._buffer[end + 2 :]
        if is_last:
            self._complete()
        return True


def _parse_fields(lines: list[bytes]) -> dict[str, str]:
    """Return header fields by lower-case name; repeated fields are joined by commas (RFC 9110, 5.3)."""
    fields: dict[str, str] = {}
    for line in lines:
        raw_name, colon, raw_value = line.partition(b":")
        if not colon or not _FIELD_NAME.fullmatch(raw_name):
            raise HttpError(f"not a header field: {line[:40]!r}")
        name, value = raw_name.decode("ascii").lower(), raw_value.strip(b" \t").decode("latin-1")
        if name == "content-length" and fields.get(name, value) != value:
            raise HttpError("two different content-length fields")
        if name in fields and name != "content-length":
            value = f"{fields[name]}, {value}"
        fields[name] = value
    if "transfer-encoding" in fields and fields.pop("content-length", None) is not None:
        # RFC 9112, 6.3: chunked framing wins over a length; a client may read on but must not reuse the connection.
        fields["connection"] = "close"
    return fields
