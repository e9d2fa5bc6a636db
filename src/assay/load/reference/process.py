"""Start and stop the reference server as a child process."""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from assay.core.errors import environment_failed
from assay.load.reference.log import ReferenceStream, load_reference_log
from assay.load.reference.timing import ReferenceTiming

_STOP_TIMEOUT_S = 10.0


@dataclass(slots=True)
class ReferenceServer:
    """A running reference server; a context manager that stops it."""

    process: subprocess.Popen[bytes]
    port: int
    log_path: Path

    @property
    def url(self) -> str:
        """Return where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> dict[str, ReferenceStream]:
        """Stop the server and return its log by response id."""
        self._end()
        return load_reference_log(self.log_path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        """Close its standard input, which tells it to write its log and leave; kill it when it does not."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        try:
            self.process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def start_reference_server(timing: ReferenceTiming, log_path: Path, *, port: int = 0) -> ReferenceServer:
    """Start a server on a loopback port (0 takes a free one) that logs to ``log_path``.

    Raises ``EnvironmentFailedError`` when it does not come up.
    """
    arguments = {"timing": asdict(timing), "log_path": str(log_path), "port": port}
    process = subprocess.Popen(
        [sys.executable, "-m", "assay.load.reference._server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert process.stdin is not None  # noqa: S101 - it was asked for.
    assert process.stdout is not None  # noqa: S101 - it was asked for.
    process.stdin.write(json.dumps(arguments).encode() + b"\n")
    answer = process.stdout.readline()
    if not answer:
        code = process.wait()
        raise environment_failed(f"the reference server ended with code {code}", where=f"127.0.0.1:{port}")
    return ReferenceServer(process, json.loads(answer)["port"], log_path)
