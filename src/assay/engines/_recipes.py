"""Recipes: which engine in which version can be installed here, from which lock; all of it data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Gt, MinLen

from assay.core.caveat import Caveat
from assay.core.errors import BadInputError, EnvironmentFailedError, Problem, bad_input, did_you_mean
from assay.core.yaml_file import load_document, parse_document

DATA = Path(__file__).parent / "data"
LOCKS = DATA / "locks"
STAND_INS = DATA / "stand_ins"
_STRICT: Any = {"extra": "forbid"}
Text = Annotated[str, MinLen(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeCaveat:
    """A doubt that every result of an installation carries."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    id: Text
    text: Text
    remedy: str | None = None
    forbids_performance_decision: bool = False

    def to_caveat(self) -> Caveat:
        """Return it as the caveat of a result."""
        return Caveat(
            id=self.id,
            text=self.text,
            remedy=self.remedy,
            forbids_performance_decision=self.forbids_performance_decision,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one engine in one version is installed for one device."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    engine: Text
    version: Text
    device: Literal["cpu"]
    platform: Text
    """Operating system and processor that the lock has files for, such as ``linux-x86_64``."""
    lock: Text
    """File of pinned, hashed packages."""
    main_package: Text
    """Distribution that carries the engine."""
    python: Text
    """Interpreters that the lock has files for, as a PEP 440 specifier."""
    installed_bytes: Annotated[int, Gt(0)]
    """Disk that the environment takes, measured."""
    cpu_flags: tuple[str, ...] = ()
    """Processor features without which it cannot run, as /proc/cpuinfo spells them."""
    stand_ins: tuple[str, ...] = ()
    """Modules of ours put in the place of packages that cannot be had."""
    converts_model: bool = False
    """Whether it needs the model converted to safetensors, which its environment can do."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Declared dependencies that are not installed, and why."""
    notes: tuple[str, ...] = ()
    """What a user elsewhere must know."""
    caveats: tuple[RecipeCaveat, ...] = ()
    source: Text
    as_of: Text

    @property
    def name(self) -> str:
        """Directory name: engine, version and device."""
        return f"{self.engine}-{self.version}-{self.device}"

    @property
    def lock_path(self) -> Path:
        """Path of the lock file."""
        return LOCKS / self.lock


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An engine that cannot be installed by Assay, and what it needs."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    engine: Text
    needs: Text
    next_step: Text
    source: Text
    as_of: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipes:
    """The content of the data file."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    schema: Literal["assay/recipes/1"]
    recipes: tuple[Recipe, ...]
    refusals: tuple[Refusal, ...]


@cache
def load_recipes() -> Recipes:
    """Return all recipes, newest version of an engine first."""
    return parse_document(load_document(DATA / "recipes.yaml"), Recipes)


def find_recipe(wanted: str, device: str) -> Recipe:
    """Return the recipe for ``ENGINE`` or ``ENGINE==VERSION``.

    Raises ``BadInputError`` for what is not known and ``EnvironmentFailedError`` for what cannot be installed here.
    """
    engine, _, version = wanted.partition("==")
    known = load_recipes()
    for refusal in known.refusals:
        if refusal.engine == engine:
            raise EnvironmentFailedError(
                Problem(where=engine, what=f"cannot be installed here: {refusal.needs}", next_step=refusal.next_step)
            )
    of_engine = [recipe for recipe in known.recipes if recipe.engine == engine]
    if not of_engine:
        raise _unknown_engine(engine, known)
    matching = [recipe for recipe in of_engine if version in {"", recipe.version}]
    if not matching:
        versions = ", ".join(recipe.version for recipe in of_engine)
        raise bad_input(f"{engine}: no recipe for version {version}", next_step=f"known: {versions}")
    for recipe in matching:
        if recipe.device == device:
            return recipe
    raise bad_input(f"{engine}: no recipe for device '{device}'", next_step="known: cpu")


def _unknown_engine(engine: str, known: Recipes) -> BadInputError:
    names = [*dict.fromkeys(recipe.engine for recipe in known.recipes), *(entry.engine for entry in known.refusals)]
    return bad_input(
        f"unknown engine '{engine}'", next_step=did_you_mean(engine, names) or f"known: {', '.join(names)}"
    )
