"""One trial: look at the machine, start the engine, warm up, measure, stop, and write down what happened."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.caveat import Caveat
from assay.core.clock import Clock
from assay.core.errors import environment_failed
from assay.core.units import NS_PER_S
from assay.engines import RunningEngine, attach, engine_named, launch
from assay.experiments._launch_request import launch_request
from assay.experiments._machine import look_at_machine, machine_caveats
from assay.experiments._store import (
    ENGINE_LOG_NAME,
    METRICS_AFTER_NAME,
    METRICS_BEFORE_NAME,
    RECORDS_NAME,
    digest_files,
)
from assay.experiments._work import make_requests, make_schedule
from assay.experiments.types import MachineState, Plan, StartPhases, Tell, Trial, TrialResult
from assay.load import LoadOptions, LoadProgress, LoadResult, Target, closed_loop, run_load
from assay.shortlist import Candidate

# vLLM compiles for about two minutes on two cores; a start that takes ten is broken.
_START_DEADLINE_S = 600.0
_REQUEST_DEADLINE_S = 120.0
_DRAIN_S = 60.0
_WARMUP_NAME = "warmup.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """What the load left behind, before the engine was stopped."""

    engine: RunningEngine
    measured: LoadResult


def measure_trial(plan: Plan, trial: Trial, work: Path, *, clock: Clock, tell: Tell) -> TrialResult:
    """Measure one trial in the directory ``work``; raises ``EngineFailedError`` when the engine does."""
    candidate = plan.candidate(trial.candidate_id)
    started_at_utc = clock.now_utc().isoformat(timespec="seconds")
    started_at_ns = clock.now_ns()
    machine = look_at_machine()
    tell("starting")
    with _start(candidate, work, clock) as engine:
        loaded = _load(plan, trial, engine, work, tell)
        tell("stopping", share=1.0)
    return _to_result(plan, trial, loaded, machine, work, started_at_utc, (clock.now_ns() - started_at_ns) / NS_PER_S)


def _start(candidate: Candidate, work: Path, clock: Clock) -> RunningEngine:
    engine = engine_named(candidate.engine)
    if candidate.url is not None:
        return attach(engine, candidate.url, candidate.model_name, clock=clock, deadline_s=30)
    request = launch_request(candidate)
    return launch(
        engine, request, directory=work, log_path=work / ENGINE_LOG_NAME, clock=clock, deadline_s=_START_DEADLINE_S
    )


def _load(plan: Plan, trial: Trial, engine: RunningEngine, work: Path, tell: Tell) -> _Loaded:
    target = Target(url=engine.base_url, model=engine.served_name)
    traffic = plan.traffic
    if traffic.warmup_requests:
        tell("warming up")
        _run_whole(
            target=target,
            schedule=closed_loop(concurrency=traffic.concurrency or 1, total=traffic.warmup_requests),
            requests=make_requests(traffic, traffic.warmup_requests, trial.seed, purpose="warmup"),
            records_path=work / _WARMUP_NAME,
            options=LoadOptions(deadline_s=_REQUEST_DEADLINE_S),
        )
    engine.require_alive()
    _keep_metrics(engine, work / METRICS_BEFORE_NAME)
    tell("measuring")
    measured = _run_whole(
        target=target,
        schedule=make_schedule(traffic, trial.seed),
        requests=make_requests(traffic, traffic.requests_per_trial, trial.seed, purpose="measured"),
        records_path=work / RECORDS_NAME,
        options=LoadOptions(deadline_s=_REQUEST_DEADLINE_S, drain_s=_DRAIN_S),
        on_progress=lambda progress: tell("measuring", _interim(progress), _share(progress)),
    )
    engine.require_alive()
    _keep_metrics(engine, work / METRICS_AFTER_NAME)
    return _Loaded(engine=engine, measured=measured)


def _run_whole(**arguments: Any) -> LoadResult:
    """Run a load to its end; one that was cut short is no measurement of this trial, whatever it recorded."""
    result = run_load(**arguments)
    if any(caveat.id == "load-interrupted" for caveat in result.info.caveats):
        raise KeyboardInterrupt
    if result.info.is_partial:
        raise environment_failed("the load generator lost a worker", where=str(result.records_path))
    return result


def _interim(progress: LoadProgress) -> str:
    return f"{progress.ended_well + progress.ended_badly} of {progress.planned} requests ended"


def _share(progress: LoadProgress) -> float:
    return (progress.ended_well + progress.ended_badly) / max(progress.planned, 1)


def _keep_metrics(engine: RunningEngine, path: Path) -> None:
    text = engine.metrics()
    if text is not None:
        path.write_text(text, encoding="utf-8")


def _to_result(
    plan: Plan,
    trial: Trial,
    loaded: _Loaded,
    machine: MachineState,
    work: Path,
    started_at_utc: str,
    duration_s: float,
) -> TrialResult:
    candidate = plan.candidate(trial.candidate_id)
    engine, command, ended = loaded.engine, loaded.engine.command, loaded.engine.exit()
    return TrialResult(
        trial=trial,
        candidate_name=candidate.name,
        started_at_utc=started_at_utc,
        duration_s=duration_s,
        start=_phases(engine),
        engine_version=engine.reported_version or candidate.engine_version,
        argv=command.argv if command else (),
        environment=dict(command.environment) if command else {},
        exit_code=ended.returncode if ended else None,
        was_killed=ended.was_killed if ended else False,
        outcomes=dict(loaded.measured.info.outcomes),
        machine=machine,
        files=digest_files(work),
        caveats=_caveats(candidate, machine, trial, loaded.measured),
    )


def _phases(engine: RunningEngine) -> StartPhases:
    times = engine.times
    start_ns = times.started_at_ns
    if start_ns is None:
        return StartPhases(answered_s=None, healthy_s=None, generated_s=None)

    def since(moment_ns: int | None) -> float | None:
        return None if moment_ns is None else (moment_ns - start_ns) / NS_PER_S

    return StartPhases(
        answered_s=since(times.answered_at_ns),
        healthy_s=since(times.healthy_at_ns),
        generated_s=since(times.generated_at_ns),
    )


def _caveats(candidate: Candidate, machine: MachineState, trial: Trial, measured: LoadResult) -> tuple[Caveat, ...]:
    return (*candidate.caveats, *machine_caveats(machine, trial.id), *measured.info.caveats)
