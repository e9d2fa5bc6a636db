"""The response parser agrees with h11, refuses what is not HTTP, and does not depend on how bytes are split."""

from itertools import pairwise

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.load._http import HttpError, ResponseParser

_CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n6;name=value\r\n world\r\nA\r\n0\r\n\r\n0\r\n\r\n\r\n0\r\nTrailer: x\r\n\r\n"
)
_LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
_UNTIL_CLOSE = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello"
_INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + _LENGTH


def _feed(data: bytes, cuts: list[int]) -> tuple[ResponseParser, bytes]:
    parser = ResponseParser()
    edges = [0, *sorted(cuts), len(data)]
    body = b"".join([parser.feed(data[start:end]) for start, end in pairwise(edges)])
    return parser, body


@pytest.mark.parametrize("data", [_CHUNKED, _LENGTH, _INTERIM], ids=["chunked", "length", "interim"])
def test_every_split_in_two_gives_the_same_body_as_h11(data: bytes) -> None:
    expected = _body_by_h11(data)
    for cut in range(len(data) + 1):
        parser, body = _feed(data, [cut])
        assert body == expected
        assert parser.is_complete
        assert parser.can_reuse


def test_a_chunk_that_ends_like_the_last_one_is_not_the_end() -> None:
    parser = ResponseParser()
    assert parser.feed(_CHUNKED[: _CHUNKED.index(b"A\r\n") + 8]).endswith(b"0\r\n\r\n")
    assert not parser.is_complete


def test_a_body_until_close_ends_with_the_connection() -> None:
    parser, body = _feed(_UNTIL_CLOSE, [30])
    assert body == b"hello"
    assert not parser.is_complete
    parser.finish()
    assert parser.is_complete
    assert not parser.can_reuse


def test_a_connection_is_not_reused_when_the_server_says_close_or_sends_more() -> None:
    closing, _ = _feed(_LENGTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), [])
    chatty, _ = _feed(_LENGTH + b"HTTP/1.1", [])
    assert closing.is_complete
    assert not closing.can_reuse
    assert chatty.is_complete
    assert not chatty.can_reuse


def test_chunked_wins_over_a_length_and_costs_the_connection() -> None:
    parser, body = _feed(_CHUNKED.replace(b"Transfer", b"Content-Length: 3\r\nTransfer"), [])
    assert len(body) == 21
    assert not parser.can_reuse


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 999 Odd\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloo\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000,
    ],
)
def test_what_is_not_http_is_refused(data: bytes) -> None:
    with pytest.raises(HttpError):
        _feed(data, [])


def test_an_end_inside_the_response_is_an_error() -> None:
    for cut in range(len(_CHUNKED)):
        parser = ResponseParser()
        parser.feed(_CHUNKED[:cut])
        with pytest.raises(HttpError, match="inside the response"):
            parser.finish()


@settings(max_examples=200, deadline=None)
@given(
    chunks=st.lists(st.binary(min_size=1, max_size=80), max_size=12),
    cuts=st.lists(st.integers(0, 1500), max_size=20),
)
def test_chunks_survive_any_framing_and_split(chunks: list[bytes], cuts: list[int]) -> None:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n\r\n"
    parser, body = _feed(data, [min(cut, len(data)) for cut in cuts])
    assert body == b"".join(chunks)
    assert parser.is_complete
    assert parser.can_reuse


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=200))
def test_noise_is_read_or_refused_and_never_breaks(data: bytes) -> None:
    for start in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"):
        try:
            _feed(start + data, [len(data) // 2])
        except HttpError:
            continue


def _body_by_h11(data: bytes) -> bytes:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    body = b""
    while not isinstance(event := connection.next_event(), h11.EndOfMessage):
        assert event is not h11.NEED_DATA
        if isinstance(event, h11.Data):
            body += bytes(event.data)
    return body
