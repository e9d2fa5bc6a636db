"""The decision on a terminal, in the words of ``decision.json``."""

import click

from assay.core.units import format_duration, format_number
from assay.decide import Decision, describe_value


def print_decision(decision: Decision) -> None:
    """Print the answer, the figures it rests on, and what would change it."""
    from assay.cli._tables import print_table

    click.echo()
    click.secho(decision.headline, bold=True)
    for line in decision.argument:
        click.echo(f"  {line}")
    click.echo()
    rows = [
        (
            entry.name,
            describe_value(decision.metric, entry.objective),
            f"{entry.good_requests} of {entry.offered_requests}",
            format_duration(entry.ttft.p50_s),
            format_duration(entry.tpot.p50_s),
            format_number(entry.output_tokens_per_s),
            format_duration(entry.start_s),
        )
        for entry in decision.figures
    ]
    columns = ("candidate", decision.metric, "good requests", "ttft p50", "tpot p50", "output tokens/s", "start")
    print_table(columns, rows, right=frozenset(range(1, 7)))
    for line in decision.would_change:
        click.echo(f"\n{line.replace('`', '')}")
    for caveat in decision.caveats:
        subject = f" ({caveat.subject})" if caveat.subject else ""
        click.secho(f"caveat {caveat.id}{subject}: {caveat.text}", dim=True)
