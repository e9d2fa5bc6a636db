"""What this machine holds: engines in environments of their own, and those of the interpreter that runs Assay."""

import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from assay.shortlist import InstalledEngine, Inventory

_HERE = {"llama.cpp": "xllamacpp"}
"""Distribution that brings an engine into our own interpreter (extra ``local``), by engine."""


def take_inventory() -> Inventory:
    """Return the engines and converted models that are at hand, installed environments before our own."""
    found: dict[str, list[InstalledEngine]] = {}
    for entry in _in_this_interpreter():
        found.setdefault(entry.engine, []).append(entry)
    return Inventory(engines={name: tuple(entries) for name, entries in found.items()}, converted_artifacts={})


def _in_this_interpreter() -> Iterable[InstalledEngine]:
    for engine, package in _HERE.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            continue
        yield InstalledEngine(engine=engine, version=found, python=sys.executable, origin="this environment")
