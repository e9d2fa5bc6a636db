"""From a decided run to one self-contained HTML file.

Jinja escapes every value; the page loads nothing, runs no script, and forbids both by its own policy, so that text
from a profile, a log or a server cannot act in it.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from assay.core.artifact import write_atomically
from assay.core.provenance import make_provenance
from assay.core.units import format_bytes, format_duration, format_number, format_percent
from assay.decide import FORMULAS, Decision, describe_value, title_of
from assay.experiments import FailedTrial, Plan, TrialResult
from assay.load import RequestRecord
from assay.profile import LoadedProfile
from assay.report._charts import RatioRow, Series, block_chart, distribution_chart, ratio_chart
from assay.report._profile_words import describe_profile
from assay.shortlist import Shortlist
from assay.sizing import SizingPlan
from assay.stats import Comparison

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInput:
    """Everything that the page shows."""

    loaded: LoadedProfile
    shortlist: Shortlist
    sizing: SizingPlan
    plan: Plan
    results: tuple[TrialResult, ...]
    failures: tuple[FailedTrial, ...]
    records: Mapping[str, Sequence[RequestRecord]]
    """Measured requests by trial id."""
    decision: Decision
    digests: Mapping[str, str]
    """Digest of each stage's file, by stage."""
    run_directory: str


def write_report(path: Path, report: ReportInput) -> None:
    """Write the page; raises ``EnvironmentFailedError`` when the disk refuses."""
    write_atomically(path, render_report(report).encode())


def render_report(report: ReportInput) -> str:
    """Return the page as text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters.update(_filters(report.decision.metric))
    return environment.get_template("report.html.j2").render(_context(report))


def _filters(metric: str) -> dict[str, Any]:
    return {
        "bytes": format_bytes,
        "commands": _mark_commands,
        "counts": lambda counts: ", ".join(f"{number} {name}" for name, number in counts.items() if number),
        "duration": lambda value: "–" if value is None else format_duration(value),
        "number": lambda value: "–" if value is None else format_number(value),
        "objective": lambda value: "–" if value is None else describe_value(metric, value),
        "percent": format_percent,
    }


def _mark_commands(text: str) -> Markup:
    """Return text with what stands between backticks set as code."""
    parts = [
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
        for index, part in enumerate(text.split("`"))
    ]
    return Markup("").join(parts)


def _context(report: ReportInput) -> dict[str, Any]:
    profile, decision = report.loaded.profile, report.decision
    names = {entry.candidate_id: entry.name for entry in decision.figures}
    provenance = make_provenance(inputs=report.digests, seed=report.plan.seed)
    return {
        "css": Markup((_TEMPLATES / "report.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file.
        "profile": profile,
        "decision": decision,
        "answer_class": decision.answer.split()[0],
        "objective": {"title": title_of(decision.metric)},
        "names": names,
        "answer_words": lambda entry: _answer_words(entry, names),
        "formulas": _formulas(decision.metric),
        **_charts(report),
        "rejections": report.shortlist.rejections,
        "left_out": report.plan.left_out,
        "caveats": decision.caveats,
        "asked": describe_profile(profile),
        "sizes": report.sizing.sizes,
        "results": report.results,
        "failures": report.failures,
        "commands_used": tuple(_commands_used(report.results)),
        "provenance": tuple(_provenance_lines(report, provenance.created_at_utc)),
        "rerun_command": _rerun_command(report),
        "report_command": shlex.join(["assay", "report", report.run_directory]),
        "tool_version": _tool(provenance.tool_version, provenance.tool_commit),
    }


def _charts(report: ReportInput) -> dict[str, Markup | None]:
    slo, decision = report.plan.slo, report.decision
    objective = tuple(Series(name=entry.name, values=entry.objective_by_block) for entry in decision.figures)
    return {
        "ratio_chart": _ratio_chart(decision) if decision.comparisons else None,
        "block_chart": block_chart(objective, axis=title_of(decision.metric)),
        "ttft_chart": distribution_chart(
            _per_request(report, "ttft_s"), axis="TTFT in ms", limit=slo.ttft_ms, limit_name="SLO"
        ),
        "tpot_chart": distribution_chart(
            _per_request(report, "tpot_s"), axis="TPOT in ms", limit=slo.tpot_ms, limit_name="SLO"
        ),
        "throughput_chart": block_chart(_throughput(report), axis="output tokens/s"),
    }


def _per_request(report: ReportInput, attribute: str) -> tuple[Series, ...]:
    """Return one time of every measured request in ms, by candidate in the decision's order."""
    return tuple(
        Series(
            name=entry.name,
            values=tuple(
                None if (value := getattr(record, attribute)) is None else 1000 * value
                for result in report.results
                if result.trial.candidate_id == entry.candidate_id
                for record in report.records[result.trial.id]
            ),
        )
        for entry in report.decision.figures
    )


def _throughput(report: ReportInput) -> tuple[Series, ...]:
    return tuple(
        Series(name=entry.name, values=entry.output_tokens_per_s_by_block) for entry in report.decision.figures
    )


def _ratio_chart(decision: Decision) -> Markup:
    names = {entry.candidate_id: entry.name for entry in decision.figures}
    rows = [
        RatioRow(
            label=f"{names[entry.a]} over {names[entry.b]}",
            ratio=entry.ratio,
            low=entry.interval.low if entry.interval else None,
            high=entry.interval.high if entry.interval else None,
            points=tuple(ratio for ratio in entry.block_ratios if ratio is not None),
        )
        for entry in decision.comparisons
    ]
    return ratio_chart(rows, margin=decision.margin)


def _answer_words(entry: Comparison, names: Mapping[str, str]) -> str:
    match entry.answer:
        case "A":
            return f"{names[entry.a]} is better"
        case "B":
            return f"{names[entry.b]} is better"
        case word:
            return word


def _formulas(metric: str) -> tuple[str, ...]:
    """Return the formulas of all figures in the table, the objective's first."""
    keys = dict.fromkeys((metric, "ttft_p50_s", "tpot_p50_s", "output_tokens_per_s"))
    return tuple(FORMULAS[key] for key in keys)


def _commands_used(results: Iterable[TrialResult]) -> Iterable[tuple[str, str, Mapping[str, str]]]:
    """Return each candidate's command line once, as its first trial used it."""
    seen: set[str] = set()
    for result in results:
        if result.trial.candidate_id not in seen and result.argv:
            seen.add(result.trial.candidate_id)
            yield result.candidate_name, shlex.join(result.argv), result.environment


def _provenance_lines(report: ReportInput, created_at_utc: str) -> Iterable[tuple[str, str]]:
    provenance = make_provenance(inputs=report.digests)
    yield "Tool", f"assay {_tool(provenance.tool_version, provenance.tool_commit)}"
    yield "Written", created_at_utc
    yield "Seed", str(report.plan.seed)
    for name, digest in report.digests.items():
        yield name.capitalize(), digest
    for candidate in report.plan.candidates:
        if candidate.artifact is not None:
            yield f"Model of {candidate.name}", f"{candidate.artifact.format}, {candidate.artifact.digest}"


def _rerun_command(report: ReportInput) -> str:
    arguments = ["assay", "select", report.loaded.source, "--blocks", str(report.plan.blocks), "--out", "NEW_DIRECTORY"]
    return shlex.join(arguments)


def _tool(version: str, commit: str | None) -> str:
    return f"{version} (commit {commit})" if commit else version
