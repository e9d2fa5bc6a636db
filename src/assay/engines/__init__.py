"""How is each engine installed, started, watched, drained?"""

from collections.abc import Mapping

from assay.core.errors import BadInputError, bad_input, did_you_mean
from assay.engines.launch import EngineFailedError, RunningEngine, attach, launch, no_environment
from assay.engines.llamacpp import LlamaCpp
from assay.engines.types import Command, Engine, LaunchRequest, ProbeRequest
from assay.engines.vllm import Vllm

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (LlamaCpp(), Vllm())}
"""Adapters by engine name."""


def engine_named(name: str) -> Engine:
    """Return the adapter of an engine; raises ``BadInputError`` for one that cannot be started yet."""
    if name not in ENGINES:
        raise _unknown(name)
    return ENGINES[name]


def _unknown(name: str) -> BadInputError:
    known = ", ".join(ENGINES)
    return bad_input(f"unknown engine '{name}'", next_step=did_you_mean(name, ENGINES) or f"assay can start: {known}")


__all__ = [
    "ENGINES",
    "Command",
    "Engine",
    "EngineFailedError",
    "LaunchRequest",
    "ProbeRequest",
    "RunningEngine",
    "attach",
    "engine_named",
    "launch",
    "no_environment",
]
