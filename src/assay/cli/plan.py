"""``assay plan``: which trials will run, in which order."""

from pathlib import Path
from typing import cast

import click

from assay.cli._options import budget_of, budget_options, json_option, run_argument


@click.command(name="plan")
@run_argument
@budget_options
@json_option
def command(run_directory: Path, quick: bool, thorough: bool, blocks: int | None, as_json: bool) -> None:
    """Draw the trials of RUN in random, interleaved blocks; writes plan.json."""
    from assay.cli._stages import ensure_plan, reopen_run
    from assay.cli._tables import print_json, print_table
    from assay.experiments import BudgetName

    budget = cast("BudgetName | None", budget_of(quick=quick, thorough=thorough))
    result, _ = ensure_plan(reopen_run(run_directory), budget=budget, blocks=blocks)
    if as_json:
        print_json(result)
        return
    rows = [
        (f"{trial.block}.{trial.position}", result.candidate(trial.candidate_id).name, trial.id)
        for trial in result.trials
    ]
    print_table(("block", "candidate", "trial"), rows)
    click.echo(
        f"\n{len(result.trials)} trials in {result.blocks} blocks; each one fresh start,"
        f" {result.traffic.warmup_requests} warm-up and {result.traffic.requests_per_trial} measured requests."
        f"\nCompared: {result.primary_metric}, margin {result.margin:.0%}, confidence {result.confidence:.0%}."
    )
