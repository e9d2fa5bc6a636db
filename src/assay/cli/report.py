"""``assay report``: the run as one HTML file."""

from pathlib import Path

import click

from assay.cli._options import run_argument


@click.command(name="report")
@run_argument
def command(run_directory: Path) -> None:
    """Write report.html of a decided RUN: one file that opens offline."""
    from assay.cli._stages import reopen_run
    from assay.cli._verdict import make_report

    click.echo(str(make_report(reopen_run(run_directory))))
