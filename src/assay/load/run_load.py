"""Carry out a load: prepare every request, let the workers follow the schedule, then turn what they saw into records.

The parent draws nothing and times nothing while the load runs. Workers spool each request as it ends; the parent reads
the spools afterwards, so an interrupted run or a dead worker leaves exactly the finished requests.
"""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import BinaryIO

from assay.core.caveat import Caveat
from assay.core.clock import SystemClock
from assay.core.errors import bad_input, environment_failed
from assay.core.units import NS_PER_S
from assay.load._convert import Converter
from assay.load._job import Item, Job, Turn, write_item
from assay.load._limits import connection_limit
from assay.load._processes import WorkerGroup, WorkerProcess
from assay.load._spool import iter_captures
from assay.load._target import Address, find_address, is_stream, parse_endpoint, render_body, render_head
from assay.load.records import RecordWriter, run_provenance
from assay.load.schedule import Schedule, save_schedule
from assay.load.types import (
    LoadOptions,
    LoadProgress,
    LoadRequest,
    LoadResult,
    RunInfo,
    Target,
    WorkerReport,
)

_READY_TIMEOUT_S = 60.0
_LEAD_NS = 30_000_000
"""Between the word to start and time zero of the schedule: the slowest worker must have heard it."""
_HEAR_S = 0.1
_OVERDUE_S = 10.0
"""A worker that has not ended this long after its drain time is killed."""
OnProgress = Callable[[LoadProgress], None]


def run_load(
    *,
    target: Target,
    schedule: Schedule,
    requests: Iterable[LoadRequest],
    records_path: Path,
    options: LoadOptions | None = None,
    on_progress: OnProgress | None = None,
) -> LoadResult:
    """Send ``requests`` to ``target`` as ``schedule`` says and leave one record of each at ``records_path`` (Parquet).

    Arrivals take the requests in their order, one each, or all turns of a session. Blocks until the last has ended.
    A ``KeyboardInterrupt`` closes the schedule, waits at most ``options.drain_s`` for requests in flight, writes the
    records and marks the run partial; a second one ends the wait. Raises ``BadInputError`` when the target or a
    request is wrong and ``EnvironmentFailedError`` when nothing listens there or the disk refuses.
    """
    run = _prepare(target, schedule, records_path, options or LoadOptions())
    try:
        planned = _write_items(run, requests)
        schedule_path = records_path.with_name(f"{records_path.stem}.schedule.json")
        save_schedule(schedule_path, schedule)
        outcome = _supervise(run, planned, on_progress)
        info = _write_records(run, outcome, planned)
    finally:
        shutil.rmtree(run.work_dir, ignore_errors=True)
    return LoadResult(records_path=records_path, schedule_path=schedule_path, info=info)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A load that is ready to start."""

    target: Target
    schedule: Schedule
    options: LoadOptions
    records_path: Path
    work_dir: Path
    address: Address
    jobs: tuple[Job, ...]


@dataclass(slots=True, kw_only=True)
class _Supervision:
    """What the parent saw of the run."""

    started_at_utc: str
    started_at_ns: int
    ended_at_ns: int = 0
    is_interrupted: bool = False
    workers: tuple[WorkerProcess, ...] = ()


def _prepare(target: Target, schedule: Schedule, records_path: Path, options: LoadOptions) -> _Run:
    if options.workers < 1:
        raise bad_input(f"got {options.workers}, want a whole number >= 1", where="workers")
    endpoint = parse_endpoint(target)
    head = render_head(target, endpoint, is_keep_alive=options.is_keep_alive)
    address = find_address(target, endpoint, timeout_s=options.connect_timeout_s)
    work_dir = records_path.with_name(f".{records_path.name}.work")
    try:
        shutil.rmtree(work_dir, ignore_errors=True)
        work_dir.mkdir(parents=True)
    except OSError as error:
        raise environment_failed(f"could not write: {error.strerror}", where=str(work_dir)) from error
    count = min(options.workers, schedule.concurrency or options.workers)
    tls_host = endpoint.host if endpoint.is_tls else None
    jobs = tuple(
        Job(
            worker=number,
            items_path=str(work_dir / f"items-{number}"),
            spool_path=str(work_dir / f"spool-{number}"),
            family=address.family,
            address=address.place,
            head=head,
            tls_host=tls_host,
            ca_file=str(target.ca_file) if target.ca_file else None,
            is_keep_alive=options.is_keep_alive,
            is_kernel_stamped=options.is_kernel_stamped,
            concurrency=_part(schedule.concurrency, number, count),
            preconnect=_preconnect(options, schedule, number, count),
            deadline_ns=_to_ns(options.deadline_s),
            drain_ns=_to_ns(options.drain_s),
            duration_ns=None if options.duration_s is None else _to_ns(options.duration_s),
            connect_timeout_ns=_to_ns(options.connect_timeout_s),
            max_in_flight=_part(options.max_in_flight, number, count) or connection_limit(),
        )
        for number in range(count)
    )
    return _Run(
        target=target,
        schedule=schedule,
        options=options,
        records_path=records_path,
        work_dir=work_dir,
        address=address,
        jobs=jobs,
    )


def _part(total: int | None, number: int, count: int) -> int | None:
    """Return worker ``number``'s part of ``total``, as even as whole numbers allow."""
    return None if total is None else total // count + (number < total % count)


def _preconnect(options: LoadOptions, schedule: Schedule, number: int, count: int) -> int:
    if not options.is_keep_alive:
        return 0
    wanted = min(schedule.concurrency or 0, schedule.total) if options.preconnect is None else options.preconnect
    return _part(wanted, number, count) or 0


def _write_items(run: _Run, requests: Iterable[LoadRequest]) -> int:
    """Write each arrival into the file of its worker and return the number of requests."""
    arrivals_ns: Iterable[int | None] = run.schedule.arrivals_ns
    if run.schedule.loop == "closed_loop":
        arrivals_ns = (None for _ in range(run.schedule.total))
    groups = _sessions(requests)
    planned = 0
    try:
        with ExitStack() as stack:
            files: list[BinaryIO] = [stack.enter_context(Path(job.items_path).open("wb")) for job in run.jobs]
            for number, due_ns in enumerate(arrivals_ns):
                group = next(groups, None)
                if group is None:
                    raise bad_input(f"got {number}, want {run.schedule.total} (one for each arrival)", where="requests")
                turns = tuple(_turn(run.target, request, planned + place) for place, request in enumerate(group))
                planned += len(turns)
                write_item(files[number % len(files)], Item(due_ns=due_ns, turns=turns))
    except OSError as error:
        raise environment_failed(f"could not write: {error.strerror}", where=str(run.work_dir)) from error
    return planned


def _sessions(requests: Iterable[LoadRequest]) -> Iterator[list[LoadRequest]]:
    """Yield the turns of each session together, and every other request alone."""
    numbered = enumerate(requests)
    by_session = groupby(
        numbered, key=lambda pair: ("one", pair[0]) if pair[1].session is None else ("many", pair[1].session)
    )
    for _, pairs in by_session:
        yield [request for _, request in pairs]


def _turn(target: Target, request: LoadRequest, index: int) -> Turn:
    meta = {
        "class": request.class_name,
        "prompt_tokens": request.prompt_tokens,
        "max_tokens": request.max_tokens,
        "session": request.session,
    }
    return Turn(
        index=index,
        think_ns=_to_ns(request.think_time_s),
        cancel_after_ns=None if request.cancel_after_s is None else _to_ns(request.cancel_after_s),
        cancel_after_chunks=request.cancel_after_chunks,
        meta=json.dumps({key: value for key, value in meta.items() if value is not None}).encode(),
        body=render_body(target, request),
    )


def _supervise(run: _Run, planned: int, on_progress: OnProgress | None) -> _Supervision:
    group = WorkerGroup(run.jobs)
    try:
        _await_ready(group)
        clock = SystemClock()
        seen = _Supervision(
            started_at_utc=clock.now_utc().isoformat(timespec="milliseconds"),
            started_at_ns=clock.now_ns() + _LEAD_NS,
        )
        group.tell(b"start %d\n" % seen.started_at_ns)
        _await_end(group, run, seen, planned, on_progress)
    finally:
        group.end()
    seen.ended_at_ns = time.monotonic_ns()
    seen.workers = tuple(group.workers)
    return seen


def _await_ready(group: WorkerGroup) -> None:
    give_up_at = time.monotonic() + _READY_TIMEOUT_S
    while not all(worker.is_ready for worker in group.workers):
        group.hear(_HEAR_S)
        if time.monotonic() > give_up_at:
            raise environment_failed(f"a load worker did not start within {_READY_TIMEOUT_S:.0f} s", where="load")
    dead = [worker.died for worker in group.workers if worker.died]
    if dead:
        raise environment_failed(f"a load worker did not start: {dead[0]}", where="load")


def _await_end(group: WorkerGroup, run: _Run, seen: _Supervision, planned: int, on_progress: OnProgress | None) -> None:
    give_up_at: float | None = None
    while not all(worker.is_over for worker in group.workers):
        try:
            group.hear(_HEAR_S)
            if on_progress is not None:
                on_progress(_progress(group, seen, planned))
        except KeyboardInterrupt:
            if seen.is_interrupted:
                return
            seen.is_interrupted = True
            give_up_at = time.monotonic() + run.options.drain_s + _OVERDUE_S
            group.tell(b"close\n")
        if give_up_at is not None and time.monotonic() > give_up_at:
            return


def _progress(group: WorkerGroup, seen: _Supervision, planned: int) -> LoadProgress:
    said = [worker.said for worker in group.workers]
    return LoadProgress(
        elapsed_s=max(0.0, (time.monotonic_ns() - seen.started_at_ns) / NS_PER_S),
        planned=planned,
        sent=sum(words.get("sent", 0) for words in said),
        in_flight=sum(words.get("in_flight", 0) for words in said),
        ended_well=sum(words.get("well", 0) for words in said),
        ended_badly=sum(words.get("badly", 0) for words in said),
        reads=sum(words.get("reads", 0) for words in said),
        is_draining=all(words.get("draining", False) for words in said),
    )


def _write_records(run: _Run, seen: _Supervision, planned: int) -> RunInfo:
    outcomes: Counter[str] = Counter()
    by_worker: Counter[int] = Counter()
    kernel_stamped = 0
    provenance = run_provenance(schedule_digest=run.schedule.digest, seed=run.schedule.seed)
    with RecordWriter(run.records_path) as writer:
        for job in run.jobs:
            converter = Converter(
                api=run.target.api,
                is_streaming=is_stream(run.target),
                keep_text=run.options.keep_text,
                worker=job.worker,
            )
            for capture in iter_captures(Path(job.spool_path)):
                record = converter.to_record(capture)
                writer.write(record)
                outcomes[record.outcome] += 1
                by_worker[job.worker] += 1
                kernel_stamped += record.stamp_source == "kernel"
        info = _info(run, seen, planned, outcomes, by_worker)
        if kernel_stamped:
            info = replace(info, stamp_source="kernel")
        writer.close(info, provenance)
    return info


def _info(run: _Run, seen: _Supervision, planned: int, outcomes: Counter[str], by_worker: Counter[int]) -> RunInfo:
    workers = tuple(_report(worker, by_worker[worker.job.worker]) for worker in seen.workers)
    lost = sum(_lost(run, seen, worker, by_worker[worker.job.worker]) for worker in seen.workers)
    closings = [worker.said.get("closed_at_ns") for worker in seen.workers]
    return RunInfo(
        target_url=run.target.url,
        address=run.address.label,
        api=run.target.api,
        model=run.target.model,
        schedule_kind=run.schedule.kind,
        schedule_digest=run.schedule.digest,
        started_at_utc=seen.started_at_utc,
        started_at_ns=seen.started_at_ns,
        closed_at_ns=max((closing for closing in closings if closing is not None), default=seen.ended_at_ns),
        ended_at_ns=seen.ended_at_ns,
        planned=planned,
        offered=outcomes.total() + lost,
        lost=lost,
        outcomes=dict(sorted(outcomes.items())),
        is_partial=seen.is_interrupted or any(worker.died for worker in workers),
        stamp_source="userspace",
        workers=workers,
        caveats=tuple(_caveats(seen, workers, lost)),
    )


def _report(worker: WorkerProcess, requests: int) -> WorkerReport:
    died = worker.died or (None if worker.is_over else "did not end in time and was killed")
    return WorkerReport(
        worker=worker.job.worker,
        requests=requests,
        reads=worker.said.get("reads", 0),
        cpu_s=worker.said.get("cpu_s", 0.0),
        wall_s=worker.said.get("wall_s", 0.0),
        clock_steps=worker.said.get("clock_steps", 0),
        unstamped_reads=worker.said.get("unstamped", 0),
        died=died,
    )


def _lost(run: _Run, seen: _Supervision, worker: WorkerProcess, requests: int) -> int:
    """Return the requests that became due at a worker which died, and of which it left no record."""
    if worker.died is None and worker.is_over:
        return 0
    if run.schedule.loop == "closed_loop":
        return max(0, int(worker.said.get("sent", 0)) - requests)
    mine = islice(run.schedule.arrivals_ns, worker.job.worker, None, len(run.jobs))
    elapsed_ns = seen.ended_at_ns - seen.started_at_ns
    return max(0, sum(due_ns <= elapsed_ns for due_ns in mine) - requests)


def _caveats(seen: _Supervision, workers: tuple[WorkerReport, ...], lost: int) -> Iterator[Caveat]:
    if seen.is_interrupted:
        yield Caveat(id="load-interrupted", text="The run was interrupted; the records are those finished by then.")
    for worker in workers:
        if worker.died:
            text = f"Load worker {worker.worker} {worker.died}; {lost} requests are without a record."
            yield Caveat(id="load-worker-died", text=text)


def _to_ns(seconds: float) -> int:
    return round(seconds * NS_PER_S)
