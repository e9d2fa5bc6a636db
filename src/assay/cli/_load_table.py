"""The table that ends ``assay load``: counts, rates, and each metric with its formula beneath."""

import click

from assay.cli._tables import print_table
from assay.core.units import format_duration, format_number, format_percent
from assay.load import LoadResult
from assay.stats import MetricSummary, Quantile, Summary

_SHOWN = ("ttft_s", "ttft_from_schedule_s", "tpot_s", "itl_s", "icl_s", "e2e_latency_s", "send_lag_s")


def print_summary(summary: Summary, result: LoadResult) -> None:
    """Print what the run gave, and the doubts about it."""
    info = result.info
    counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in summary.outcomes.items())
    click.echo(f"{summary.offered} requests to {info.model} at {info.address}: {counts}")
    click.echo(f"arrival stamps: {info.stamp_source}; records: {result.records_path}\n")
    shown = [metric for name in _SHOWN if (metric := summary.metric(name)).count]
    columns = ("metric", "mean", "p50", "p90", "p99", "p99.9", "values")
    print_table(columns, [_row(metric) for metric in shown], right=frozenset(range(1, 7)))
    click.echo()
    print_table(("rate", "value"), _rates(summary), right=frozenset({1}))
    click.echo(f"\nBrackets: {summary.confidence:.0%} intervals; a dash: too few values for one.")
    for metric in shown:
        click.echo(f"{_title(metric.name)} = {metric.formula}")
    for caveat in (*info.caveats, *summary.caveats):
        click.echo(f"caveat: {caveat.text}" + (f" Remedy: {caveat.remedy}." if caveat.remedy else ""))


def _row(metric: MetricSummary) -> tuple[str, ...]:
    cells = [_cell(quantile) for quantile in metric.quantiles]
    return (_title(metric.name), format_duration(metric.mean), *cells, f"{metric.count:,}")


def _cell(quantile: Quantile) -> str:
    if quantile.value is None:
        return "-"
    return f"{format_duration(quantile.value)} [{format_duration(quantile.low)}, {format_duration(quantile.high)}]"


def _title(name: str) -> str:
    return name.removesuffix("_s")


def _rates(summary: Summary) -> list[tuple[str, str]]:
    rows = [
        ("offered, requests/s", format_number(summary.offered_rate_rps)),
        ("achieved, requests/s", format_number(summary.achieved_rate_rps)),
        ("output tokens/s", format_number(summary.output_tokens_per_s)),
    ]
    if summary.slo is not None:
        low, high = format_percent(summary.attainment_low), format_percent(summary.attainment_high)
        rows += [
            ("goodput, requests/s", format_number(summary.goodput_rps)),
            ("goodput, tokens/s", format_number(summary.good_tokens_per_s)),
            ("within the SLO", f"{format_percent(summary.attainment)} [{low}, {high}]"),
        ]
    return rows
