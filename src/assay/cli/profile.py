"""``assay profile``: check a profile, or print its JSON Schema."""

import json
from pathlib import Path

import click


@click.group(name="profile")
def command() -> None:
    """Check a workload profile, or print its JSON Schema."""


@command.command(name="check")
@click.argument("profile", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the checked profile as JSON.")
def check(profile: Path, as_json: bool) -> None:
    """Check PROFILE and say what it asks for; every problem is named with its line."""
    from assay.profile import load_profile
    from assay.report import describe_profile

    loaded = load_profile(profile)
    if as_json:
        from pydantic import TypeAdapter

        click.echo(TypeAdapter(type(loaded.profile)).dump_json(loaded.profile, indent=2).decode())
        return
    width = max(len(name) for name, _ in describe_profile(loaded.profile))
    for name, text in describe_profile(loaded.profile):
        click.echo(f"{name:<{width}}  {text}")


@command.command(name="schema")
def schema() -> None:
    """Print the JSON Schema of a profile, for editors."""
    from assay.profile import profile_schema

    click.echo(json.dumps(profile_schema(), indent=2))
