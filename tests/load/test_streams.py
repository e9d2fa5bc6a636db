"""Each golden stream S01 to S25 has the right reading: as captured reads, under every split, and over a real socket."""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from _streams import GoldenStream, golden_streams
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.load import LoadOptions, LoadRequest, RequestRecord, Target, closed_loop, load_records, run_load
from assay.load._convert import Converter
from assay.load._spool import Capture

_STREAMS = golden_streams()
_IDS = [stream.name for stream in _STREAMS]
_SENT_AT_NS = 100
_BY_END = {"clean": "complete", "open": "done_but_open", "reset": "reset"}
_CONVERTER = Converter(api="chat", is_streaming=True, keep_text=True, worker=0)
_PHRASES = {200: b"OK", 204: b"No Content", 429: b"Too Many Requests", 503: b"Unavailable", 504: b"Gateway Timeout"}


def _capture(stream: GoldenStream, reads: tuple[bytes, ...]) -> Capture:
    """The k-th read arrives at 1000 k."""
    return Capture(
        index=0,
        meta=b"{}",
        scheduled_at_ns=_SENT_AT_NS,
        sent_at_ns=_SENT_AT_NS,
        finished_at_ns=1000 * max(len(reads), 1),
        ending=_BY_END[stream.end],
        error="ECONNRESET: Connection reset by peer" if stream.end == "reset" else "",
        http_status=stream.status,
        content_type=stream.content_type,
        stamps_ns=[1000 * (number + 1) for number in range(len(reads))],
        lengths=[len(read) for read in reads],
        body=b"".join(reads),
    )


def _meaning(record: RequestRecord) -> dict[str, Any]:
    """What does not depend on how the bytes were split into reads."""
    text = record.text or ""
    return {
        "outcome": record.outcome,
        "error": record.error,
        "finish_reason": record.finish_reason,
        "chunk_count": record.chunk_count,
        "chunk_tokens": None if record.chunk_tokens is None else list(record.chunk_tokens),
        "prompt_tokens": record.prompt_tokens,
        "cached_prompt_tokens": record.cached_prompt_tokens,
        "output_tokens": record.output_tokens,
        "reasoning_tokens": record.reasoning_tokens,
        "choice_count": record.choice_count,
        "text": text if len(text) <= 100 else f"{text[:20]}... ({len(text)} characters)",
        "has_content": record.first_content_at_ns is not None,
        "has_reasoning": record.first_reasoning_at_ns is not None,
        "has_tool_call": record.first_tool_call_at_ns is not None,
    }


def _times(record: RequestRecord) -> dict[str, Any]:
    """Arrivals as numbers of reads, from 1."""
    named = {
        "first_token_read": record.first_token_at_ns,
        "first_content_read": record.first_content_at_ns,
        "last_token_read": record.last_token_at_ns,
    }
    return {name: None if value is None else value // 1000 for name, value in named.items()} | {
        "shared_read_chunks": record.shared_read_chunks,
        "first_token_is_bounded": record.first_token_after_ns is not None,
    }


@pytest.mark.parametrize("stream", _STREAMS, ids=_IDS)
def test_golden_stream_is_read_rightly(stream: GoldenStream, update_golden: bool) -> None:
    record = _CONVERTER.to_record(_capture(stream, stream.reads))
    text = json.dumps(_meaning(record) | _times(record), indent=2, ensure_ascii=False) + "\n"
    if update_golden:
        stream.out_path.write_text(text, encoding="utf-8")
        pytest.fail("rewritten; look at the difference and run without --update-golden")
    assert text == stream.out_path.read_text(encoding="utf-8")


def test_every_case_of_the_list_has_a_golden_stream() -> None:
    cases = {name[:3] for name in _IDS}
    assert cases >= {f"S{number:02}" for number in range(1, 26)}


@pytest.mark.parametrize("stream", _STREAMS, ids=_IDS)
def test_reading_does_not_depend_on_a_split_at_any_byte(stream: GoldenStream) -> None:
    body = b"".join(stream.reads)
    whole = _meaning(_CONVERTER.to_record(_capture(stream, (body,))))
    step = max(1, len(body) // 2000)
    for cut in range(0, len(body) + 1, step):
        split = _CONVERTER.to_record(_capture(stream, (body[:cut], body[cut:])))
        assert _meaning(split) == whole


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_reading_does_not_depend_on_many_splits(data: st.DataObject) -> None:
    stream = data.draw(st.sampled_from(_STREAMS))
    body = b"".join(stream.reads)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=30)))
    edges = [0, *cuts, len(body)]
    reads = tuple(body[start:end] for start, end in pairwise(edges))
    split = _CONVERTER.to_record(_capture(stream, reads))
    assert _meaning(split) == _meaning(_CONVERTER.to_record(_capture(stream, (body,))))


@pytest.mark.parametrize("stream", _STREAMS, ids=_IDS)
def test_golden_stream_over_a_socket(
    stream: GoldenStream, scripted: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server = scripted([_script(stream)])
    result = run_load(
        target=Target(url=f"http://localhost:{server.port}", model="m"),
        schedule=closed_loop(concurrency=1, total=1),
        requests=[LoadRequest(prompt="hello")],
        records_path=tmp_path / "records.parquet",
        options=LoadOptions(deadline_s=10, keep_text=True),
    )
    (record,) = load_records(result.records_path)
    golden = json.loads(stream.out_path.read_text(encoding="utf-8"))
    got = _meaning(record)
    for key in set(got) - {"error"}:
        assert got[key] == golden[key], key
    assert (record.error is None) == (golden["error"] is None)


def _script(stream: GoldenStream) -> list[bytes | float]:
    if stream.status is None:
        return [b"\0reset"]
    head = b"HTTP/1.1 %d %s\r\n" % (stream.status, _PHRASES[stream.status])
    if stream.content_type:
        head += b"Content-Type: %s\r\n" % stream.content_type.encode()
    if stream.status == 204:
        return [head + b"\r\n"]
    script: list[bytes | float] = [head + b"Transfer-Encoding: chunked\r\n\r\n"]
    for read in stream.reads:
        script += [0.002, b"%x\r\n%s\r\n" % (len(read), read) if read else b""]
    return script + {"clean": [b"0\r\n\r\n"], "open": [2.0], "reset": [0.02, b"\0reset"]}[stream.end]
