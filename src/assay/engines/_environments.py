"""Where engines are installed, and what state each installation is in."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from assay.core.artifact import read_artifact
from assay.core.errors import BadInputError
from assay.core.home import assay_home
from assay.core.ids import digest_file
from assay.engines._recipes import Recipe, load_recipes

INSTALLED_KIND = "assay/installed-engine/1"
INSTALLED_NAME = "installed.json"
State = Literal["complete", "outdated", "interrupted", "absent"]
_LOCAL_PACKAGES = {"llama.cpp": "xllamacpp"}
"""Distribution that brings an engine into Assay's own interpreter (extra ``local``), by engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What an installation writes last; without it the environment is not complete."""

    engine: str
    version: str
    device: str
    lock_digest: str
    python_version: str
    packages: Mapping[str, str]
    """Version of each installed distribution, by name."""
    size_bytes: int
    took_s: float
    installed_at_utc: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The place of one recipe's installation and what is there."""

    recipe: Recipe
    directory: Path
    state: State
    installed: Installed | None

    @property
    def python(self) -> Path:
        """Interpreter of the environment."""
        return self.directory / "env" / "bin" / "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEngine:
    """An engine in the interpreter that runs Assay."""

    engine: str
    version: str
    python: Path


def engines_directory() -> Path:
    """Return where all engines are installed."""
    return assay_home() / "engines"


def environment_of(recipe: Recipe) -> Environment:
    """Return the environment of a recipe and its state."""
    directory = engines_directory() / recipe.name
    installed = _read_installed(directory / INSTALLED_NAME)
    return Environment(
        recipe=recipe, directory=directory, state=_state(recipe, directory, installed), installed=installed
    )


def all_environments() -> tuple[Environment, ...]:
    """Return the environment of every recipe."""
    return tuple(environment_of(recipe) for recipe in load_recipes().recipes)


def find_environment(engine: str, version: str | None = None) -> Environment | None:
    """Return the newest complete installation of an engine, or of one version of it; ``None`` when there is none."""
    for environment in all_environments():
        recipe = environment.recipe
        if recipe.engine == engine and version in {None, recipe.version} and environment.state == "complete":
            return environment
    return None


def local_engines() -> Iterable[LocalEngine]:
    """Return the engines of the interpreter that runs Assay."""
    for engine, package in _LOCAL_PACKAGES.items():
        try:
            yield LocalEngine(engine=engine, version=version(package), python=Path(sys.executable))
        except PackageNotFoundError:
            continue


def _read_installed(path: Path) -> Installed | None:
    if not path.exists():
        return None
    try:
        return read_artifact(path, kind=INSTALLED_KIND, body_type=Installed).body
    except BadInputError:
        return None  # Damaged: as good as not there, and doctor says so.


def _state(recipe: Recipe, directory: Path, installed: Installed | None) -> State:
    if installed is None:
        return "interrupted" if (directory / "env").exists() else "absent"
    return "complete" if installed.lock_digest == digest_file(recipe.lock_path) else "outdated"
