"""Options and arguments that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

out_option: _Decorator = click.option(
    "--out", type=click.Path(path_type=Path), help="Run directory; runs/<profile name> by default."
)
json_option: _Decorator = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
run_argument: _Decorator = click.argument("run_directory", metavar="RUN", type=click.Path(path_type=Path))


def budget_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--quick``, ``--thorough`` and ``--blocks``."""
    function = click.option("--quick", is_flag=True, help="3 blocks: shows the way, decides nothing.")(function)
    function = click.option("--thorough", is_flag=True, help="12 blocks instead of 6.")(function)
    return click.option(
        "--blocks", type=click.IntRange(1, 999), help="Number of blocks; extends what was run already."
    )(function)


def budget_of(*, quick: bool, thorough: bool) -> str | None:
    """Return the named budget, ``None`` when none was given; raises ``click.UsageError`` for both."""
    if quick and thorough:
        raise click.UsageError("--quick and --thorough exclude each other")
    return "quick" if quick else ("thorough" if thorough else None)
