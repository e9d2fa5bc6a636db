"""The whole path over real sockets, against a server of known timing."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from assay.core.errors import BadInputError, EnvironmentFailedError
from assay.load import (
    LoadOptions,
    LoadProgress,
    LoadRequest,
    Target,
    closed_loop,
    constant,
    load_records,
    load_run_info,
    load_schedule,
    poisson,
    run_load,
)
from assay.load.reference import ReferenceTiming


def _target(url: str) -> Target:
    return Target(url=url, model="reference")


def test_closed_loop_records_each_chunk_when_the_server_sent_it(reference, tmp_path: Path) -> None:
    server = reference(ReferenceTiming(ttft_s=0.03, itl_s=0.005))
    requests = [LoadRequest(prompt="hello", max_tokens=20, class_name="short")] * 12
    result = run_load(
        target=_target(server.url),
        schedule=closed_loop(concurrency=4, total=12),
        requests=requests,
        records_path=tmp_path / "records.parquet",
    )
    log = server.stop()
    records = load_records(result.records_path)
    assert [record.index for record in records] == list(range(12))
    assert {record.outcome for record in records} == {"completed"}
    assert result.info.outcomes == {"completed": 12}
    assert {record.output_tokens for record in records} == {20}
    assert {record.class_name for record in records} == {"short"}
    errors_ns = []
    for record in records:
        truth = log[record.response_id]
        assert len(record.chunk_at_ns) == 20 == len(truth.send_at_ns)
        errors_ns += [got - sent for got, sent in zip(record.chunk_at_ns, truth.send_at_ns, strict=True)]
        assert record.ttft_s == pytest.approx(0.03, abs=0.01)
        assert record.tpot_s == pytest.approx(0.005, rel=0.2)
    assert min(errors_ns) > 0, "a chunk cannot arrive before it is sent"
    limit_ns = 1_000_000 if result.info.stamp_source == "kernel" else 20_000_000
    assert np.percentile(errors_ns, 90) < limit_ns


def test_closed_loop_keeps_the_number_in_flight_and_the_order(reference, tmp_path: Path) -> None:
    server = reference(ReferenceTiming(ttft_s=0.01, itl_s=0.002))
    result = run_load(
        target=_target(server.url),
        schedule=closed_loop(concurrency=3, total=15),
        requests=[LoadRequest(prompt="hello", max_tokens=5)] * 15,
        records_path=tmp_path / "records.parquet",
    )
    records = load_records(result.records_path)
    events = sorted(
        [(record.sent_at_ns, 1) for record in records] + [(record.finished_at_ns, -1) for record in records]
    )
    in_flight = np.cumsum([change for _, change in events])
    assert in_flight.max() == 3
    sends = [record.sent_at_ns for record in records]
    assert sends == sorted(sends)
    assert all(record.connect_started_at_ns is None for record in records), "connections are opened before the start"


def test_open_loop_sends_on_schedule_whatever_the_server_does(reference, tmp_path: Path) -> None:
    server = reference(ReferenceTiming(ttft_s=0.2, itl_s=0.0, slots=2))
    schedule = constant(rate_rps=50, total=25)
    result = run_load(
        target=_target(server.url),
        schedule=schedule,
        requests=[LoadRequest(prompt="hello", max_tokens=2)] * 25,
        records_path=tmp_path / "records.parquet",
    )
    records = load_records(result.records_path)
    assert len(records) == 25
    zero_ns = result.info.started_at_ns
    assert [record.scheduled_at_ns - zero_ns for record in records] == list(schedule.arrivals_ns)
    assert np.median([record.send_lag_s for record in records]) < 0.01
    assert records[-1].ttft_from_schedule_s > 1.0, "25 requests of 0.2 s through 2 slots queue for 2 s"
    assert load_schedule(result.schedule_path) == schedule
    assert load_run_info(result.records_path) == result.info


def test_two_workers_share_the_schedule(reference, tmp_path: Path) -> None:
    server = reference(ReferenceTiming(ttft_s=0.01, itl_s=0.002))
    result = run_load(
        target=_target(server.url),
        schedule=poisson(rate_rps=200, seed=7, total=60),
        requests=(LoadRequest(prompt=f"hello {number}", max_tokens=4) for number in range(60)),
        records_path=tmp_path / "records.parquet",
        options=LoadOptions(workers=2),
    )
    records = load_records(result.records_path)
    assert len(records) == 60
    assert {record.worker for record in records} == {0, 1}
    assert [worker.requests for worker in result.info.workers] == [30, 30]
    due = [record.scheduled_at_ns for record in records]
    assert all(earlier <= later for earlier, later in pairwise(due))


def test_progress_is_told(reference, tmp_path: Path) -> None:
    server = reference(ReferenceTiming(ttft_s=0.3, itl_s=0.01))
    seen: list[LoadProgress] = []
    run_load(
        target=_target(server.url),
        schedule=closed_loop(concurrency=2, total=4),
        requests=[LoadRequest(prompt="hello", max_tokens=10)] * 4,
        records_path=tmp_path / "records.parquet",
        on_progress=seen.append,
    )
    assert seen[-1].planned == 4
    assert seen[-1].ended_well == 4
    assert any(progress.in_flight == 2 for progress in seen)


def test_nothing_listening_is_an_environment_failure(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailedError, match="no connection"):
        run_load(
            target=_target("http://127.0.0.1:1"),
            schedule=closed_loop(concurrency=1, total=1),
            requests=[LoadRequest(prompt="hello")],
            records_path=tmp_path / "records.parquet",
        )
    assert list(tmp_path.iterdir()) == []


def test_too_few_requests_are_bad_input(reference, tmp_path: Path) -> None:
    server = reference(ReferenceTiming())
    with pytest.raises(BadInputError, match="got 1, want 2"):
        run_load(
            target=_target(server.url),
            schedule=closed_loop(concurrency=1, total=2),
            requests=[LoadRequest(prompt="hello")],
            records_path=tmp_path / "records.parquet",
        )
