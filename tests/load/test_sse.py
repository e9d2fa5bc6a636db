"""The event parser follows the standard's grammar, whatever the splits."""

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.load._sse import SseEvent, SseParser


def _parse(reads: list[bytes], *, finish: bool = False) -> list[SseEvent]:
    parser = SseParser()
    events = [event for read in reads for event in parser.feed(read)]
    return events + (parser.finish() if finish else [])


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (b"data: a\n\n", [b"a"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data\n\n", []),
        (b"data:\ndata:\n\n", [b"\n"]),
        (b": comment\n\n", []),
        (b":\ndata: a\n\n", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"id: 1\nretry: 5\nunknown: x\ndata: a\n\n", [b"a"]),
        (b"data: a\r\rdata: b\r\n\r\ndata: c\n\n", [b"a", b"b", b"c"]),
        (b"data: a\x0b\x0c\x85\n\n", [b"a\x0b\x0c\x85"]),
        (b"data: a", []),
    ],
)
def test_the_grammar(text: bytes, data: list[bytes]) -> None:
    assert [event.data for event in _parse([text])] == data
    assert [event.data for event in _parse([bytes([byte]) for byte in text])] == data


def test_an_event_has_its_type_and_the_next_one_has_not() -> None:
    events = _parse([b"event: error\ndata: a\n\ndata: b\n\n"])
    assert events == [SseEvent(b"a", b"error"), SseEvent(b"b", b"")]


def test_an_unclosed_last_event_is_handed_out_at_the_end() -> None:
    assert _parse([b"data: a\n\ndata: b"], finish=True) == [SseEvent(b"a"), SseEvent(b"b")]


def test_a_large_event_in_small_reads_is_not_quadratic() -> None:
    reads = [b"data: ", *[b"x" * 1000] * 20_000, b"\n\n"]
    (event,) = _parse(reads)
    assert len(event.data) == 20_000_000


_LINE = st.sampled_from([b"data: x", b"data:y", b"data", b": c", b"event: e", b"id: 1", b"", b"", "data: é€".encode()])
_END = st.sampled_from([b"\n", b"\r", b"\r\n"])


@settings(max_examples=300, deadline=None)
@given(lines=st.lists(st.tuples(_LINE, _END), max_size=20), cuts=st.lists(st.integers(0, 300), max_size=8))
def test_any_split_reads_like_the_whole(lines: list[tuple[bytes, bytes]], cuts: list[int]) -> None:
    text = b"".join(line + end for line, end in lines)
    edges = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    reads = [text[start:end] for start, end in pairwise(edges)]
    assert _parse(reads, finish=True) == _parse([text], finish=True)
    assert [event.data for event in _parse(reads)] == _by_the_letter(text)


def _by_the_letter(text: bytes) -> list[bytes]:
    """The standard's algorithm, line by line on the whole text; shares nothing with the product."""
    found, data = [], b""
    for line in re.split(rb"\r\n|\n|\r", text)[:-1]:
        if not line:
            if data:
                found.append(data[:-1])
            data = b""
        elif line == b"data" or line.startswith(b"data:"):
            value = line[5:]
            data += value[value.startswith(b" ") :] + b"\n"
    return [entry for entry in found if entry]


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_noise_never_breaks_it(noise: bytes) -> None:
    _parse([noise, noise], finish=True)
