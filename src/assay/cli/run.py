"""``assay run``: measure the planned trials."""

from pathlib import Path

import click

from assay.cli._options import run_argument


@click.command(name="run")
@run_argument
def command(run_directory: Path) -> None:
    """Run the trials of RUN that are not finished yet; goes on where it stopped, whatever ended it."""
    from assay.cli._progress import RunDisplay
    from assay.cli._stages import reopen_run, require_plan, run_trials

    run = reopen_run(run_directory)
    planned, digest = require_plan(run)
    with RunDisplay() as display:
        results = run_trials(run, planned, digest, display)
    click.echo(f"{len(results)} of {len(planned.trials)} trials finished; next: assay decide {run_directory}")
