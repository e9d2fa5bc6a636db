"""The warden: a small process between Assay and an engine that lets no engine outlive Assay.

It runs as ``python -I -S _warden.py GRACE_S -- COMMAND...`` with the standard library alone. Its standard input is a
pipe from Assay: a line ``stop GRACE_S`` asks for an orderly end, and end-of-file means that Assay is gone (also by
SIGKILL). It then sends SIGTERM to the engine's first process only (SGLang takes a signal to its group for a crash),
waits, and kills whatever descends from it. On Linux it is a subreaper, so that workers which lost their parent stay
within reach (prctl(2), PR_SET_CHILD_SUBREAPER). It reports on standard output, one JSON object a line.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_ORPHANED_GRACE_S = 2.0
_POLL_S = 0.05
_OURS_TO_IGNORE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Only Assay, through the pipe, ends an engine in order."""


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _prepare_child() -> None:
    """In the new process: take the signals' own effects back, for ignored ones outlive exec; die with the warden."""
    for number in _OURS_TO_IGNORE:
        signal.signal(number, signal.SIG_DFL)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _report(**event: object) -> None:
    try:
        sys.stdout.write(json.dumps(event) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - kept open to the end.


def _start(command: list[str]) -> "subprocess.Popen[bytes]":
    # The engine's output goes where the warden's standard error goes: the log file of the trial.
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=2,
        stderr=2,
        start_new_session=True,
        preexec_fn=_prepare_child,  # noqa: PLW1509 - this process has one thread.
    )


def _wait_for_order(child: "subprocess.Popen[bytes]") -> float | None:
    """Return the grace in seconds once asked to stop, or ``None`` when the engine ended by itself."""
    buffered = b""
    while child.poll() is None:
        if not select.select([0], [], [], _POLL_S)[0]:
            continue
        data = os.read(0, 256)
        if not data:
            return _ORPHANED_GRACE_S
        buffered += data
        if b"\n" in buffered:
            return float(buffered.split()[1])
    return None


def _end(child: "subprocess.Popen[bytes]", grace_s: float) -> bool:
    """Stop the engine's first process; return whether SIGKILL was needed."""
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(grace_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return True
    return False


def _descendants() -> list[int]:
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():  # noqa: PTH112, PTH208 - stdlib, start-up time.
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stream:  # noqa: PTH123
                    parents[int(entry)] = int(stream.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
    found: list[int] = []
    frontier = {os.getpid()}
    while frontier:
        frontier = {pid for pid, parent in parents.items() if parent in frontier}
        found.extend(frontier)
    return found


def _sweep(group: int) -> None:
    """Kill what is left of the engine: its process group, and every descendant wherever it went."""
    deadline = time.monotonic() + 5
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    while time.monotonic() < deadline:
        left = _descendants()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if not left:
            return
        time.sleep(0.01)


def main() -> None:
    """Start the engine, wait for the order to stop or for its end, and leave nothing behind."""
    for number in _OURS_TO_IGNORE:
        signal.signal(number, signal.SIG_IGN)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    command = sys.argv[sys.argv.index("--") + 1 :]
    try:
        child = _start(command)
    except OSError as error:
        _report(event="failed", reason=f"{command[0]}: {error.strerror}")
        return
    _report(event="started", pid=child.pid)
    grace_s = _wait_for_order(child)
    was_killed = _end(child, grace_s) if grace_s is not None else False
    _sweep(child.pid)
    _report(event="ended", returncode=child.returncode, was_killed=was_killed)


if __name__ == "__main__":
    main()
