"""``assay decide``: which candidate, how surely."""

from pathlib import Path

import click

from assay.cli._options import json_option, run_argument


@click.command(name="decide")
@run_argument
@json_option
def command(run_directory: Path, as_json: bool) -> int:
    """Judge the finished trials of RUN; writes decision.json.

    Exit code 0 when a candidate is chosen, 1 when none meets the requirements, 4 when inconclusive.
    """
    from assay.cli._outcome import print_decision
    from assay.cli._stages import reopen_run
    from assay.cli._tables import print_json
    from assay.cli._verdict import make_decision

    decision = make_decision(reopen_run(run_directory))
    if as_json:
        print_json(decision)
    else:
        print_decision(decision)
    return decision.exit_code
