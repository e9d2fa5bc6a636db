"""Install an engine into an environment of its own, from pinned and hashed packages.

``pip install --require-hashes --no-deps`` takes exactly what the lock names; where packages come from is left to the
user's own pip configuration. What marks an installation as complete is written last, so that an interrupted one is
seen and made anew. pip runs under the warden: it ends when Assay does.
"""

import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from packaging.specifiers import SpecifierSet

from assay.core.artifact import write_artifact
from assay.core.errors import EnvironmentFailedError, Problem, environment_failed
from assay.core.ids import digest_file
from assay.core.units import format_bytes
from assay.engines._convert import ensure_converted_model
from assay.engines._environments import (
    INSTALLED_KIND,
    INSTALLED_NAME,
    Environment,
    Installed,
    engines_directory,
    environment_of,
)
from assay.engines._process import EngineProcess
from assay.engines._recipes import STAND_INS, Recipe
from assay.engines._verify import read_packages
from assay.engines.types import Command

_POLL_S = 0.2
_PIP_LINE = re.compile(r"^(?:Collecting|Processing|Using cached|Downloading|Installing) (\S+)", re.MULTILINE)
# Downloads and unpacked files lie side by side for a while.
_SPACE_FACTOR = 1.6
_INTERPRETERS = ("python3.11", "python3.12", "python3.13", "python3.14", "python3")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallProgress:
    """Where an installation stands."""

    step: str
    """What is being done, for people."""
    share: float | None
    """Part of the step that is done (0 to 1); ``None`` when it cannot be told."""


OnProgress = Callable[[InstallProgress], None]


def install(recipe: Recipe, *, on_progress: OnProgress) -> Environment:
    """Install a recipe, or return the installation that is there; an interrupted or outdated one is made anew.

    Raises ``EnvironmentFailedError`` when space, an interpreter or a package is missing, when a hash differs, or when
    another Assay installs it right now. ``KeyboardInterrupt`` leaves a state that ``doctor`` names and a repeat mends.
    """
    with _only_installer(recipe):
        environment = environment_of(recipe)
        if environment.state != "complete":
            _install_anew(environment, on_progress)
        if recipe.converts_model:
            on_progress(InstallProgress(step="converting the model to safetensors", share=None))
            ensure_converted_model(environment.python)
    return environment_of(recipe)


def remove(recipe: Recipe) -> int:
    """Remove an installation and return the bytes that became free."""
    with _only_installer(recipe):
        directory = environment_of(recipe).directory
        freed = _size_bytes(directory)
        # What marks it complete goes first, so that a removal cut short is never taken for an installation.
        (directory / INSTALLED_NAME).unlink(missing_ok=True)
        shutil.rmtree(directory, ignore_errors=True)
        return freed


def _install_anew(environment: Environment, on_progress: OnProgress) -> None:
    recipe, directory = environment.recipe, environment.directory
    started = time.monotonic()
    _require_platform(recipe)
    _require_space(recipe)
    interpreter = _find_interpreter(recipe)
    (directory / INSTALLED_NAME).unlink(missing_ok=True)
    on_progress(InstallProgress(step=f"making an environment with {interpreter.name}", share=None))
    _make_environment(interpreter, directory)
    _install_packages(environment, on_progress)
    _copy_stand_ins(environment)
    on_progress(InstallProgress(step="checking what was installed", share=None))
    found = read_packages(environment.python)
    write_artifact(
        directory / INSTALLED_NAME,
        kind=INSTALLED_KIND,
        body=Installed(
            engine=recipe.engine,
            version=recipe.version,
            device=recipe.device,
            lock_digest=digest_file(recipe.lock_path),
            python_version=found.python_version,
            packages=found.versions,
            size_bytes=_size_bytes(directory),
            took_s=round(time.monotonic() - started, 1),
            installed_at_utc=datetime.now(UTC).isoformat(timespec="seconds"),
        ),
        inputs={"lock": digest_file(recipe.lock_path)},
    )


@contextmanager
def _only_installer(recipe: Recipe) -> Iterator[None]:
    from filelock import FileLock, Timeout

    directory = engines_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = FileLock(directory / f".{recipe.name}.lock")
        lock.acquire(blocking=False)
    except Timeout as error:
        raise environment_failed(
            f"another assay installs or removes {recipe.name} right now",
            where=str(directory),
            next_step="wait for it, then run the same command again",
        ) from error
    except OSError as error:
        raise environment_failed(f"could not write: {error.strerror or error}", where=str(directory)) from error
    try:
        yield
    finally:
        lock.release()


def _require_platform(recipe: Recipe) -> None:
    here = f"{platform.system()}-{platform.machine()}".lower()
    if here != recipe.platform:
        raise environment_failed(
            f"{recipe.name} has packages for {recipe.platform} only, this is {here}",
            next_step="run the engine elsewhere and give assay its URL (candidates[].url)",
        )


def _require_space(recipe: Recipe) -> None:
    free = shutil.disk_usage(engines_directory()).free
    wanted = int(recipe.installed_bytes * _SPACE_FACTOR)
    if free < wanted:
        raise environment_failed(
            f"{recipe.name} needs {format_bytes(wanted)} of disk, {format_bytes(free)} are free",
            where=str(engines_directory()),
            next_step="free space, or set ASSAY_HOME to another disk",
        )


def _find_interpreter(recipe: Recipe) -> Path:
    """Return an interpreter that the lock has files for: our own where it fits, else one on the path."""
    allowed = SpecifierSet(recipe.python)
    if allowed.contains(platform.python_version()):
        return Path(sys.executable)
    for name in _INTERPRETERS:
        path = shutil.which(name)
        if path is not None and allowed.contains(_version_of(path)):
            return Path(path)
    raise environment_failed(
        f"{recipe.name} needs Python {recipe.python}; this is {platform.python_version()} and no other fits",
        next_step="install such a Python and put it on the PATH, then run the same command again",
    )


def _version_of(interpreter: str) -> str:
    program = "import platform; print(platform.python_version())"
    try:
        done = subprocess.run([interpreter, "-c", program], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return "0"
    return done.stdout.strip()


def _make_environment(interpreter: Path, directory: Path) -> None:
    environment = directory / "env"
    shutil.rmtree(environment, ignore_errors=True)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        subprocess.run([str(interpreter), "-m", "venv", str(environment)], capture_output=True, text=True, check=True)
    except OSError as error:
        raise environment_failed(f"could not write: {error.strerror or error}", where=str(directory)) from error
    except subprocess.CalledProcessError as error:
        raise EnvironmentFailedError(
            Problem(
                what="could not make a virtual environment",
                where=str(environment),
                next_step="check that this Python has the venv module (Debian: apt install python3-venv)",
                detail=error.stderr,
            )
        ) from error


def _install_packages(environment: Environment, on_progress: OnProgress) -> None:
    lock = environment.recipe.lock_path
    total = sum(not line.startswith(("#", " ")) and "==" in line for line in lock.read_text().splitlines())
    log_path = environment.directory / "install.log"
    log_path.unlink(missing_ok=True)
    arguments = ["-m", "pip", "install", "--require-hashes", "--no-deps", "--no-input", "--progress-bar", "off"]
    command = Command(argv=(str(environment.python), *arguments, "-r", str(lock)))
    pip = EngineProcess(command, directory=environment.directory, log_path=log_path)
    try:
        while (ended := pip.exit()) is None:
            on_progress(_pip_progress(log_path, total))
            time.sleep(_POLL_S)
    finally:
        pip.stop(grace_s=1)
    if ended.returncode != 0:
        raise _pip_failure(environment, pip.log_tail(lines=6))


def _pip_progress(log_path: Path, total: int) -> InstallProgress:
    try:
        names = _PIP_LINE.findall(log_path.read_text(errors="replace"))
    except OSError:
        names = []
    if "collected" in names:
        return InstallProgress(step=f"unpacking {total} packages", share=None)
    collected = {re.split(r"[=<>;\[]", name)[0] for name in names if "==" in name}
    share = len(collected) / total if total else None
    return InstallProgress(step=f"fetching package {len(collected)} of {total}", share=share)


def _pip_failure(environment: Environment, tail: str) -> EnvironmentFailedError:
    is_hash = "DO NOT MATCH THE HASHES" in tail or "THESE PACKAGES DO NOT MATCH" in tail
    notes = "; ".join(environment.recipe.notes)
    step = "a package differs from the lock: do not use it, and report where it came from" if is_hash else notes
    return EnvironmentFailedError(
        Problem(
            what=f"pip could not install {environment.recipe.name}",
            where=str(environment.directory / "install.log"),
            next_step=step or "check the network and pip's own configuration, then run the same command again",
            detail=tail,
        )
    )


def _copy_stand_ins(environment: Environment) -> None:
    for name in environment.recipe.stand_ins:
        target = next((environment.directory / "env" / "lib").glob("python*/site-packages"))
        shutil.copytree(STAND_INS / name, target / name, dirs_exist_ok=True)


def _size_bytes(directory: Path) -> int:
    return sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
