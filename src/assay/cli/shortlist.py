"""``assay shortlist``: which candidates can serve the profile."""

from pathlib import Path

import click

from assay.cli._options import json_option, out_option


@click.command(name="shortlist")
@click.argument("profile", type=click.Path(path_type=Path))
@out_option
@json_option
def command(profile: Path, out: Path | None, as_json: bool) -> int:
    """Say which candidates of PROFILE can serve it, which can't, and why; writes shortlist.json into the run directory.

    Exit code 1 when none is left.
    """
    from assay.cli._stages import ensure_shortlist, open_run
    from assay.cli._tables import print_json
    from assay.core.errors import EXIT_FIT, EXIT_GATE_FAILED

    run = open_run(profile, out)
    result, _ = ensure_shortlist(run, is_fresh=True)
    if as_json:
        print_json(result)
    else:
        _print(result)
    return EXIT_FIT if result.candidates else EXIT_GATE_FAILED


def _print(result: "object") -> None:
    from assay.cli._tables import print_table
    from assay.shortlist import Shortlist

    assert isinstance(result, Shortlist)  # noqa: S101 - a programming error, not input.
    rows = [
        (entry.name, "in", f"{entry.engine} {entry.engine_version or ''}".strip(), "") for entry in result.candidates
    ]
    for entry in result.rejections:
        reasons = "; ".join(reason.text for reason in entry.reasons)
        name = entry.name if entry.was_asked_for else f"({entry.name})"
        rows.append((name, "out", reasons, entry.next_step or ""))
    print_table(("candidate", "verdict", "why", "next step"), rows)
    click.echo("\nStill to be verified by a run:")
    for line in result.verify:
        click.echo(f"  - {line}")
