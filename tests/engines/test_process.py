"""Engines as child processes: started, watched, ended, and never left behind, whatever happens to Assay."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from assay.core.errors import EnvironmentFailedError
from assay.engines._process import EngineProcess
from assay.engines.types import Command

STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("stubborn", flush=True)
time.sleep(600)
"""
WITH_WORKERS = """
import subprocess, sys, time
inside = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
# A worker that has left the group and lost its parent, as an engine's core process may.
outside = subprocess.run(
    [sys.executable, "-c",
     "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(601)'],"
     " start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); print(p.pid)"],
    capture_output=True, text=True, check=True)
print("pids", inside.pid, outside.stdout.strip(), flush=True)
time.sleep(600)
"""


def python_command(program: str) -> Command:
    return Command(argv=(sys.executable, "-c", program))


def start(program: str, directory: Path) -> EngineProcess:
    return EngineProcess(python_command(program), directory=directory, log_path=directory / "engine.log")


def wait_for(condition: Callable[[], object], timeout_s: float = 10) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.02)


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_process_reports_the_exit_code_of_a_program_that_ends(tmp_path: Path) -> None:
    process = start("import sys; print('last words', file=sys.stderr); sys.exit(7)", tmp_path)
    wait_for(process.exit)
    ended = process.stop(grace_s=1)
    assert (ended.returncode, ended.was_killed) == (7, False)
    assert "last words" in process.log_tail()


def test_process_ends_by_sigterm_within_its_grace(tmp_path: Path) -> None:
    process = start("import time; time.sleep(600)", tmp_path)
    ended = process.stop(grace_s=5)
    assert (ended.returncode, ended.was_killed) == (-signal.SIGTERM, False)
    assert is_gone(process.pid)


def test_process_that_ignores_sigterm_is_killed_after_its_grace(tmp_path: Path) -> None:
    process = start(STUBBORN, tmp_path)
    wait_for(lambda: "stubborn" in process.log_tail())
    ended = process.stop(grace_s=0.3)
    assert (ended.returncode, ended.was_killed) == (-signal.SIGKILL, True)
    assert is_gone(process.pid)


def test_stop_leaves_no_worker_even_one_that_left_the_group(tmp_path: Path) -> None:
    process = start(WITH_WORKERS, tmp_path)
    wait_for(lambda: "pids" in process.log_tail())
    workers = [int(word) for word in process.log_tail().split()[1:]]
    assert len(workers) == 2
    process.stop(grace_s=5)
    for pid in (*workers, process.pid):
        assert is_gone(pid)


def test_stop_twice_is_harmless(tmp_path: Path) -> None:
    process = start("import time; time.sleep(600)", tmp_path)
    assert process.stop(grace_s=5) == process.stop(grace_s=5)


def test_process_that_cannot_be_started_says_which_program(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailedError, match="/no/such/engine: No such file"):
        EngineProcess(Command(argv=("/no/such/engine",)), directory=tmp_path, log_path=tmp_path / "engine.log")


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM])
def test_no_engine_outlives_an_assay_that_was_killed(tmp_path: Path, blow: signal.Signals) -> None:
    program = f"""
import sys, time
from pathlib import Path
from assay.engines._process import EngineProcess
from assay.engines.types import Command
directory = Path({str(tmp_path)!r})
process = EngineProcess(Command(argv=(sys.executable, "-c", {WITH_WORKERS!r})), directory=directory,
                        log_path=directory / "engine.log")
print(process.pid, flush=True)
time.sleep(600)
"""
    assay = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert assay.stdout is not None
    engine_pid = int(assay.stdout.readline())
    log = tmp_path / "engine.log"
    wait_for(lambda: log.exists() and "pids" in log.read_text())
    workers = [int(word) for word in log.read_text().split()[1:]]
    assay.send_signal(blow)
    assay.wait()
    assay.stdout.close()
    for pid in (engine_pid, *workers):
        wait_for(lambda pid=pid: is_gone(pid))


def test_engine_dies_with_a_warden_that_was_killed(tmp_path: Path) -> None:
    process = start("import time; time.sleep(600)", tmp_path)
    warden = psutil.Process(process.pid).parent()
    assert warden is not None
    assert "_warden.py" in " ".join(warden.cmdline())
    os.kill(warden.pid, signal.SIGKILL)
    wait_for(lambda: is_gone(process.pid))
    process.stop(grace_s=1)


def test_engine_does_not_inherit_our_python_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/ours")
    monkeypatch.setenv("OPENAI_API_KEY", "kept")
    process = start("import os; print(os.environ.get('PYTHONPATH'), os.environ['OPENAI_API_KEY'])", tmp_path)
    wait_for(process.exit)
    process.stop(grace_s=1)
    assert process.log_tail() == "None kept"
