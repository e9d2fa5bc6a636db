"""``assay select``: every stage in order, from a profile to a decision and a report."""

from pathlib import Path
from typing import cast

import click

from assay.cli._options import budget_of, budget_options, json_option, out_option


@click.command(name="select")
@click.argument("profile", type=click.Path(path_type=Path))
@budget_options
@out_option
@json_option
def command(profile: Path, quick: bool, thorough: bool, blocks: int | None, out: Path | None, as_json: bool) -> int:
    """Choose an engine for PROFILE: shortlist, size, plan, run, decide, report.

    Leaves every stage's file, the evidence and report.html in the run directory. The same command on an unfinished run
    goes on where it stopped; finished trials are never run again.

    Exit code 0 when a candidate is chosen, 1 when none meets the requirements, 4 when inconclusive.
    """
    from assay.cli._outcome import print_decision
    from assay.cli._progress import RunDisplay
    from assay.cli._stages import ensure_plan, open_run, run_trials
    from assay.cli._tables import print_json
    from assay.cli._verdict import make_decision, make_report
    from assay.experiments import BudgetName

    budget = cast("BudgetName | None", budget_of(quick=quick, thorough=thorough))
    run = open_run(profile, out)
    planned, digest = ensure_plan(run, budget=budget, blocks=blocks)
    with RunDisplay() as display:
        display.announce(run.directory, planned)
        run_trials(run, planned, digest, display)
    decision = make_decision(run)
    report = make_report(run)
    if as_json:
        print_json(decision)
    else:
        print_decision(decision)
        click.echo(f"\nReport: {report}")
    return decision.exit_code
