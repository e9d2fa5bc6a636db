"""What this machine holds: engines in environments of their own, and those of the interpreter that runs Assay."""

from collections.abc import Iterable
from dataclasses import dataclass

from assay.engines import Environment, all_environments, converted_model, load_recipes, local_engines
from assay.shortlist import InstalledEngine, Inventory

_NEXT_STEPS = {
    "absent": "assay engines install {name}",
    "interrupted": "was interrupted: assay engines install {name}",
    "outdated": "has another lock than this assay: assay engines install {name}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLine:
    """One engine in one version, and whether it is here."""

    engine: str
    version: str | None
    device: str | None
    state: str
    """``installed``, or what ``assay.engines`` says of its environment, or ``cannot be installed``."""
    text: str
    """Where it is, or what to do next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineListing:
    """All lines, for programs."""

    engines: tuple[EngineLine, ...]


def take_inventory() -> Inventory:
    """Return the engines and converted models that are at hand, installed environments before our own."""
    found: dict[str, list[InstalledEngine]] = {}
    for entry in (*_in_environments(), *_in_this_interpreter()):
        found.setdefault(entry.engine, []).append(entry)
    model = converted_model()
    return Inventory(
        engines={name: tuple(entries) for name, entries in found.items()},
        converted_artifacts={"safetensors": str(model)} if model else {},
    )


def list_engines() -> tuple[EngineLine, ...]:
    """Return every engine that Assay knows: in our own interpreter, by recipe, and those that it cannot install."""
    here = [
        EngineLine(engine=entry.engine, version=entry.version, device="cpu", state="installed", text=entry.origin)
        for entry in _in_this_interpreter()
    ]
    refused = [
        EngineLine(engine=entry.engine, version=None, device=None, state="cannot be installed", text=entry.needs)
        for entry in load_recipes().refusals
    ]
    at_hand = {(entry.engine, entry.version) for entry in here}
    lines = (
        _line(environment)
        for environment in all_environments()
        if environment.state != "absent" or (environment.recipe.engine, environment.recipe.version) not in at_hand
    )
    return (*here, *lines, *refused)


def _line(environment: Environment) -> EngineLine:
    recipe = environment.recipe
    is_complete = environment.state == "complete"
    step = "" if is_complete else _NEXT_STEPS[environment.state].format(name=f"{recipe.engine}=={recipe.version}")
    return EngineLine(
        engine=recipe.engine,
        version=recipe.version,
        device=recipe.device,
        state="installed" if is_complete else environment.state,
        text=str(environment.directory) if is_complete else step,
    )


def _in_environments() -> Iterable[InstalledEngine]:
    for environment in all_environments():
        if environment.state == "complete":
            recipe = environment.recipe
            yield InstalledEngine(
                engine=recipe.engine,
                version=recipe.version,
                python=str(environment.python),
                origin=str(environment.directory),
                caveats=tuple(caveat.to_caveat() for caveat in recipe.caveats),
            )


def _in_this_interpreter() -> Iterable[InstalledEngine]:
    for entry in local_engines():
        yield InstalledEngine(
            engine=entry.engine, version=entry.version, python=str(entry.python), origin="this environment"
        )
