"""``assay engines``: list, install, check and remove inference engines."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.cli._options import json_option

if TYPE_CHECKING:
    from assay.engines import Finding

_device_option = click.option("--device", default="cpu", show_default=True, help="Device that it shall run on.")


@click.group(name="engines")
def command() -> None:
    """List, install, check and remove inference engines.

    Each engine lives in an environment of its own below the user's data directory, or below ASSAY_HOME.
    """


@command.command(name="list")
@json_option
def list_command(as_json: bool) -> int:
    """Show which engines Assay knows and which are installed here."""
    from assay.cli._inventory import EngineListing, list_engines
    from assay.cli._tables import print_json, print_table

    listing = list_engines()
    if as_json:
        print_json(EngineListing(engines=listing))
        return 0
    rows = [(line.engine, line.version or "-", line.device or "-", line.state, line.text) for line in listing]
    print_table(("engine", "version", "device", "state", "where, or what is next"), rows)
    return 0


@command.command(name="install")
@click.argument("engine", metavar="ENGINE[==VERSION]")
@_device_option
@json_option
def install_command(engine: str, device: str, as_json: bool) -> int:
    """Install ENGINE from pinned, hashed packages; safe to interrupt and to repeat."""
    from assay.cli._engines_display import InstallDisplay
    from assay.cli._tables import print_json
    from assay.core.units import format_bytes, format_duration
    from assay.engines import environment_of, find_recipe, install

    recipe = find_recipe(engine, device)
    was_complete = environment_of(recipe).state == "complete"
    with InstallDisplay(recipe.name) as display:
        environment = install(recipe, on_progress=display)
    if as_json:
        print_json(environment)
        return 0
    installed = environment.installed
    assert installed is not None  # noqa: S101 - install() raises otherwise.
    took = "was installed already" if was_complete else f"installed in {format_duration(installed.took_s)}"
    click.echo(f"{recipe.name}: {took}, {format_bytes(installed.size_bytes)} in {environment.directory}")
    for caveat in recipe.caveats:
        click.echo(f"caveat: {caveat.text}")
    return 0


@command.command(name="doctor")
@click.argument("engine", metavar="[ENGINE]", required=False)
@click.option("--start", "is_started", is_flag=True, help="Also start each installed engine and have it generate.")
@json_option
def doctor_command(engine: str | None, is_started: bool, as_json: bool) -> int:
    """Say what is wrong with the engines installed here, or with ENGINE alone, and how to mend it.

    Exit code 3 when something is wrong.
    """
    from assay.cli._engines_display import Examination
    from assay.cli._tables import print_json
    from assay.core.errors import EXIT_ENVIRONMENT, EXIT_FIT

    findings = tuple(_examine(engine, is_started=is_started, is_quiet=as_json))
    if as_json:
        print_json(Examination(findings=findings))
    return EXIT_ENVIRONMENT if any(finding.level == "wrong" for finding in findings) else EXIT_FIT


@command.command(name="remove")
@click.argument("engine", metavar="ENGINE[==VERSION]")
@_device_option
def remove_command(engine: str, device: str) -> int:
    """Remove an installed ENGINE; the converted model stays."""
    from assay.core.units import format_bytes
    from assay.engines import environment_of, find_recipe, remove

    recipe = find_recipe(engine, device)
    if environment_of(recipe).state == "absent":
        click.echo(f"{recipe.name}: is not installed")
        return 0
    click.echo(f"{recipe.name}: removed, {format_bytes(remove(recipe))} are free again")
    return 0


def _examine(engine: str | None, *, is_started: bool, is_quiet: bool) -> "list[Finding]":
    """Return the findings, each printed as soon as it is known."""
    from assay.cli._engines_display import print_finding
    from assay.engines import diagnose, find_recipe

    name = find_recipe(engine, "cpu").engine if engine else None
    found = []
    for finding in chain(diagnose(engine=name), _start_each(name) if is_started else ()):
        if not is_quiet:
            print_finding(finding)
        found.append(finding)
    return found


def _start_each(engine: str | None) -> "Iterator[Finding]":
    """Start every engine that a run would take, one after another."""
    from assay.cli._inventory import take_inventory
    from assay.core.clock import SystemClock
    from assay.engines import check_start, engine_named, find_recipe

    for name, entries in take_inventory().engines.items():
        for entry in entries:
            if engine in {None, name}:
                recipe = find_recipe(f"{name}=={entry.version}", "cpu")
                found = check_start(engine_named(name), recipe, Path(entry.python), SystemClock())
                yield replace(found, text=f"{found.text} (from {entry.origin})")
