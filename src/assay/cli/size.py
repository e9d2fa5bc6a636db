"""``assay size``: will each candidate fit in memory?"""

from pathlib import Path

import click

from assay.cli._options import json_option, run_argument


@click.command(name="size")
@run_argument
@json_option
def command(run_directory: Path, as_json: bool) -> int:
    """Size the candidates of RUN against the profile's memory; writes sizing.json.

    Exit code 1 when none fits.
    """
    from assay.cli._stages import ensure_sizing, reopen_run
    from assay.cli._tables import print_json, print_table
    from assay.core.errors import EXIT_FIT, EXIT_GATE_FAILED
    from assay.core.units import format_bytes

    result, _ = ensure_sizing(reopen_run(run_directory), is_fresh=True)
    if as_json:
        print_json(result)
    else:
        rows = [
            (
                entry.candidate_name,
                format_bytes(entry.needed_bytes),
                format_bytes(entry.available_bytes),
                entry.verdict,
                "; ".join(f"{term.name} {format_bytes(term.size_bytes)} = {term.formula}" for term in entry.terms),
            )
            for entry in result.sizes
        ]
        print_table(("candidate", "needed", "available", "verdict", "formula"), rows, right=frozenset({1, 2}))
    return EXIT_GATE_FAILED if all(entry.verdict == "does not fit" for entry in result.sizes) else EXIT_FIT
