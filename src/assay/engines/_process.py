"""An engine as a child process, with a warden between: started, watched, and never left behind."""

import json
import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.core.errors import environment_failed
from assay.engines.types import Command

_WARDEN = Path(__file__).with_name("_warden.py")
_LOG_TAIL_BYTES = 8192
_WARDEN_MARGIN_S = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineExit:
    """How an engine's first process ended."""

    returncode: int
    """Exit code; negative for the signal that ended it."""
    was_killed: bool
    """Whether SIGTERM was not enough within the grace."""


class EngineProcess:
    """One running engine. Closing the pipe to its warden, by whatever means, ends it."""

    def __init__(self, command: Command, *, directory: Path, log_path: Path) -> None:
        """Start the engine in ``directory``; raises ``EnvironmentFailedError`` when it cannot be started."""
        self.log_path = log_path
        self._events: queue.Queue[dict[str, Any]] = queue.Queue()
        self._exit: EngineExit | None = None
        self._warden = self._start_warden(command, directory)
        threading.Thread(target=self._read_events, daemon=True).start()
        first = self._next_event(timeout_s=10)
        if first is None or first["event"] != "started":
            reason = first["reason"] if first else "the warden did not report"
            self._close_pipe()
            raise environment_failed(f"could not start: {reason}", where=str(log_path))
        self.pid: int = first["pid"]

    def exit(self) -> EngineExit | None:
        """Return how the engine ended, or ``None`` while it runs."""
        if self._exit is None:
            self._note(self._next_event(timeout_s=0))
        return self._exit

    def stop(self, grace_s: float) -> EngineExit:
        """End the engine in order: SIGTERM, ``grace_s`` seconds, then SIGKILL; returns how it ended."""
        if self.exit() is None:
            self._order_stop(grace_s)
            self._note(self._next_event(timeout_s=grace_s + _WARDEN_MARGIN_S))
        self._close_pipe()
        return self._exit or EngineExit(returncode=-9, was_killed=True)

    def log_tail(self, lines: int = 8) -> str:
        """Return the last lines of the engine's log."""
        try:
            with self.log_path.open("rb") as stream:
                stream.seek(max(0, os.fstat(stream.fileno()).st_size - _LOG_TAIL_BYTES))
                text = stream.read().decode(errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def _start_warden(self, command: Command, directory: Path) -> "subprocess.Popen[bytes]":
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for name, text in command.files.items():
                (directory / name).write_text(text)
            with self.log_path.open("ab") as log:
                return subprocess.Popen(
                    [sys.executable, "-I", "-S", str(_WARDEN), "--", *command.argv],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=directory,
                    env=_environment(command.environment),
                    start_new_session=True,
                )
        except OSError as error:
            raise environment_failed(f"could not start: {error.strerror or error}", where=str(directory)) from error

    def _read_events(self) -> None:
        assert self._warden.stdout is not None  # noqa: S101 - opened as a pipe above.
        for line in self._warden.stdout:
            self._events.put(json.loads(line))

    def _next_event(self, *, timeout_s: float) -> dict[str, Any] | None:
        try:
            return self._events.get(block=timeout_s > 0, timeout=timeout_s or None)
        except queue.Empty:
            return None

    def _note(self, event: Mapping[str, Any] | None) -> None:
        if event is not None and event["event"] == "ended":
            self._exit = EngineExit(returncode=event["returncode"], was_killed=event["was_killed"])

    def _order_stop(self, grace_s: float) -> None:
        assert self._warden.stdin is not None  # noqa: S101 - opened as a pipe above.
        try:
            self._warden.stdin.write(f"stop {grace_s}\n".encode())
            self._warden.stdin.flush()
        except OSError:
            return  # The warden has ended, and the engine with it.

    def _close_pipe(self) -> None:
        if self._warden.stdin is not None:
            with suppress(OSError):  # A warden that was killed cannot take what is still buffered.
                self._warden.stdin.close()
        try:
            self._warden.wait(_WARDEN_MARGIN_S)
        except subprocess.TimeoutExpired:
            self._warden.kill()
            self._warden.wait()
        if self._warden.stdout is not None:
            self._warden.stdout.close()


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    """Return our environment without what would leak into the engine's interpreter, plus ``added``."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {**inherited, "PYTHONUNBUFFERED": "1", **added}


def free_port() -> int:
    """Return a loopback port that was free a moment ago; a start that loses the race is tried again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def require_free(port: int) -> None:
    """Raise ``EnvironmentFailedError`` when somebody listens on the loopback ``port``."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise environment_failed(
                f"port {port} on 127.0.0.1 is taken ({error.strerror})",
                next_step="end what listens there, or leave 'port' out to have a free one chosen",
            ) from error
