"""Start an engine for a candidate, prove that it serves, and end it; or attach to one that runs already."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.core.clock import Clock
from assay.core.errors import EnvironmentFailedError, Problem, environment_failed
from assay.engines._http import NoAnswerError, ask, ask_json
from assay.engines._process import EngineExit, EngineProcess, free_port, require_free
from assay.engines._readiness import NotReadyError, StartTimes, wait_until_ready
from assay.engines.types import Command, Engine, LaunchRequest, ProbeRequest

_PORT_ATTEMPTS = 3
_ADDRESS_IN_USE = ("address already in use", "couldn't bind", "bind failed", "failed to bind")
# What engines write when memory does not suffice, and what a user can do about it.
_MEMORY_WORDS = ("out of memory", "cannot allocate memory", "failed to allocate", "no available memory", "bad_alloc")
ANY_PORT = 0


class EngineFailedError(EnvironmentFailedError):
    """An engine did not start, or ended while it was needed."""


class RunningEngine:
    """An engine that has proved that it serves; leaving the ``with`` block ends it."""

    def __init__(
        self,
        *,
        engine: Engine,
        base_url: str,
        served_name: str,
        times: StartTimes,
        command: Command | None,
        process: EngineProcess | None,
        reported_version: str | None,
    ) -> None:
        self.engine = engine
        self.base_url = base_url
        self.served_name = served_name
        self.times = times
        self.command = command
        """Command line; ``None`` for a server that was attached to."""
        self.reported_version = reported_version
        """What the running server says of its version; ``None`` when it cannot tell."""
        self._process = process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """Process id of the engine's first process; ``None`` when it was attached to."""
        return self._process.pid if self._process else None

    def exit(self) -> EngineExit | None:
        """Return how the engine ended, ``None`` while it runs or when it is not ours."""
        return self._process.exit() if self._process else None

    def require_alive(self) -> None:
        """Raise ``EngineFailedError`` when the engine has ended."""
        ended = self.exit()
        if ended is not None and self._process is not None:
            raise _failure(self.engine, f"ended with exit code {ended.returncode} during the load", self._process)

    def metrics(self) -> str | None:
        """Return the engine's Prometheus text, or ``None`` when it has none or does not answer."""
        if self.engine.metrics_path is None:
            return None
        with suppress(NoAnswerError):
            status, body = ask(self.base_url, ProbeRequest(path=self.engine.metrics_path), timeout_s=5)
            return body.decode(errors="replace") if status == 200 else None
        return None

    def stop(self) -> EngineExit | None:
        """End the engine in order; returns how it ended, ``None`` when it is not ours."""
        return self._process.stop(self.engine.stop_grace_s) if self._process else None


def launch(
    engine: Engine, request: LaunchRequest, *, directory: Path, log_path: Path, clock: Clock, deadline_s: float
) -> RunningEngine:
    """Start an engine and return it once the target model generates.

    ``request.port`` 0 takes a free port and tries another one when somebody was faster. Raises ``EngineFailedError``
    with the end of the engine's log when it ends, or is not ready within ``deadline_s``; nothing is left running.
    """
    if request.port != ANY_PORT:
        require_free(request.port)
        return _launch_once(engine, request, directory, log_path, clock, deadline_s)
    for attempt in range(1, _PORT_ATTEMPTS + 1):
        chosen = replace(request, port=free_port())
        try:
            return _launch_once(engine, chosen, directory, log_path, clock, deadline_s)
        except EngineFailedError as error:
            if attempt == _PORT_ATTEMPTS or not any(word in str(error).lower() for word in _ADDRESS_IN_USE):
                raise
    raise AssertionError  # The last attempt has returned or raised.


def attach(
    engine: Engine, base_url: str, served_name: str, *, clock: Clock, deadline_s: float, api_key: str | None = None
) -> RunningEngine:
    """Return a server that runs already, once its target model has generated; raises ``EngineFailedError``."""
    try:
        times = wait_until_ready(
            engine,
            base_url,
            served_name,
            clock=clock,
            deadline_s=deadline_s,
            started_at_ns=None,
            is_gone=lambda: False,
            api_key=api_key,
        )
    except NotReadyError as error:
        raise EngineFailedError(
            Problem(what=f"{engine.name}: {error}", where=base_url, next_step="check the URL and that it is up")
        ) from error
    return RunningEngine(
        engine=engine,
        base_url=base_url.rstrip("/"),
        served_name=served_name,
        times=times,
        command=None,
        process=None,
        reported_version=None,
    )


def _launch_once(
    engine: Engine, request: LaunchRequest, directory: Path, log_path: Path, clock: Clock, deadline_s: float
) -> RunningEngine:
    command = engine.command(request)
    base_url = f"http://127.0.0.1:{request.port}"
    started_at_ns = clock.now_ns()
    process = EngineProcess(command, directory=directory, log_path=log_path)
    try:
        times = wait_until_ready(
            engine,
            base_url,
            request.served_name,
            clock=clock,
            deadline_s=deadline_s,
            started_at_ns=started_at_ns,
            is_gone=lambda: process.exit() is not None,
        )
        return RunningEngine(
            engine=engine,
            base_url=base_url,
            served_name=request.served_name,
            times=times,
            command=command,
            process=process,
            reported_version=_reported_version(engine, request, base_url),
        )
    except NotReadyError as error:
        ended = process.stop(grace_s=2)
        detail = f" (exit code {ended.returncode})" if "ended" in str(error) else ""
        raise _failure(engine, f"{error}{detail}", process) from error
    except BaseException:
        process.stop(grace_s=2)
        raise


def _reported_version(engine: Engine, request: LaunchRequest, base_url: str) -> str | None:
    probe = engine.version(request)
    if probe is None:
        return None
    with suppress(NoAnswerError):
        status, answer = ask_json(base_url, probe, timeout_s=5)
        version = answer.get("version")
        return version if status == 200 and isinstance(version, str) else None
    return None


def _failure(engine: Engine, what: str, process: EngineProcess) -> EngineFailedError:
    tail = process.log_tail()
    needs_memory = any(word in tail.lower() for word in _MEMORY_WORDS)
    step = "give it more memory, a smaller context or fewer slots" if needs_memory else "its log ends:"
    return EngineFailedError(
        Problem(what=f"{engine.name}: {what}", where=str(process.log_path), next_step=step, detail=tail)
    )


def no_environment(engine: str) -> EnvironmentFailedError:
    """Return the error for an engine that is not installed here."""
    return environment_failed(
        f"{engine} is not installed here", next_step=f"run: assay engines install {engine} --device cpu"
    )
