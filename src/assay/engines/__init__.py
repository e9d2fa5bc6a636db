"""How is each engine installed, started, watched, drained?"""

from collections.abc import Mapping

from assay.core.errors import BadInputError, bad_input, did_you_mean
from assay.engines._convert import MODEL_PACKAGE, converted_model, ensure_converted_model
from assay.engines._doctor import Finding, check_start, diagnose
from assay.engines._environments import (
    Environment,
    LocalEngine,
    all_environments,
    environment_of,
    find_environment,
    local_engines,
)
from assay.engines._install import InstallProgress, install, remove
from assay.engines._recipes import Recipe, Refusal, find_recipe, load_recipes
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
    "MODEL_PACKAGE",
    "Command",
    "Engine",
    "EngineFailedError",
    "Environment",
    "Finding",
    "InstallProgress",
    "LaunchRequest",
    "LocalEngine",
    "ProbeRequest",
    "Recipe",
    "Refusal",
    "RunningEngine",
    "all_environments",
    "attach",
    "check_start",
    "converted_model",
    "diagnose",
    "engine_named",
    "ensure_converted_model",
    "environment_of",
    "find_environment",
    "find_recipe",
    "install",
    "launch",
    "load_recipes",
    "local_engines",
    "no_environment",
    "remove",
]
