"""``assay load``: send a load to a running server and measure every request."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from assay.cli._options import json_option
from assay.core.errors import EXIT_ENVIRONMENT, EXIT_FIT, EXIT_INTERRUPTED

_DEFAULT_REQUESTS = 100
_MAX_DRAWN_REQUESTS = 200_000
_CLOSED_LOOP_GUESS_RPS = 20
"""Requests a second that one slot of a timed closed loop may ask for; more are not prepared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flags:
    """The command line's flags that shape the load."""

    rate: float | None
    concurrency: int | None
    requests: int | None
    duration: float | None
    schedule: str
    burstiness: float
    prompt_tokens: str
    output_tokens: str
    dataset: Path | None
    seed: int


@click.command(name="load")
@click.argument("url", metavar="URL")
@click.option("--model", required=True, help="Model name to ask for.")
@click.option("--api", type=click.Choice(["chat", "completions", "embeddings"]), default="chat", show_default=True)
@click.option("--rate", type=float, help="Open loop: arrivals per second.")
@click.option("--concurrency", type=click.IntRange(1), help="Closed loop: requests in flight.")
@click.option("--requests", type=click.IntRange(1), help="Number of requests; 100 without --duration.")
@click.option("--duration", type=click.FloatRange(0, min_open=True), help="Seconds until the schedule closes.")
@click.option("--schedule", type=click.Choice(["poisson", "constant", "gamma"]), default="poisson", show_default=True)
@click.option("--burstiness", type=float, default=1.0, help="Shape of --schedule gamma; below 1 is burstier.")
@click.option("--prompt-tokens", default="128", show_default=True, help="N, LOW-HIGH or MEDIAN~SIGMA.")
@click.option("--output-tokens", default="64", show_default=True, help="N, LOW-HIGH or MEDIAN~SIGMA.")
@click.option("--dataset", type=click.Path(path_type=Path), help="JSON Lines file of prompts instead.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of arrivals and prompts.")
@click.option("--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Worker processes.")
@click.option("--deadline", type=float, default=600.0, show_default=True, help="Seconds that one request may take.")
@click.option("--drain", type=float, default=60.0, show_default=True, help="Seconds to wait at the end.")
@click.option("--slo-ttft-ms", type=float, help="Good requests answer within this, from when they were due.")
@click.option("--slo-tpot-ms", type=float, help="Good requests need at most this per output token.")
@click.option("--slo-e2e-ms", type=float, help="Good requests end within this, from when they were due.")
@click.option("--warmup-requests", type=click.IntRange(0), default=0, help="First requests, kept out of figures.")
@click.option("--header", "headers", multiple=True, metavar="NAME:VALUE", help="Extra request header; repeatable.")
@click.option("--body", default="{}", metavar="JSON", help="Extra fields of each request's body; null removes one.")
@click.option("--api-key-env", metavar="VARIABLE", help="Environment variable that holds the API key.")
@click.option("--ca-file", type=click.Path(path_type=Path), help="Certificates to trust for https.")
@click.option("--unix-socket", type=click.Path(path_type=Path), help="Connect to this socket.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("load"), show_default=True, help="Directory.")
@json_option
def command(url: str, as_json: bool, **flags: Any) -> int:
    """Send a load to the server at URL and measure every request.

    Exactly one of --rate (open loop: requests arrive whether or not the server keeps up) and --concurrency (closed
    loop). Leaves records.parquet, records.schedule.json and summary.json in the directory of --out.
    """
    from assay.cli._load_display import LoadDisplay
    from assay.cli._load_table import print_summary
    from assay.cli._tables import print_json
    from assay.core.artifact import write_artifact
    from assay.core.ids import digest_file
    from assay.load import LoadOptions, load_records, run_load
    from assay.stats import Window, summarize

    shape = _Flags(**{name: flags[name] for name in _Flags.__dataclass_fields__})
    schedule, requests = _plan(shape)
    out: Path = flags["out"]
    options = LoadOptions(
        workers=flags["workers"], deadline_s=flags["deadline"], drain_s=flags["drain"], duration_s=shape.duration
    )
    with LoadDisplay(label=flags["model"], is_quiet=as_json) as display:
        result = run_load(
            target=_target(url, flags),
            schedule=schedule,
            requests=requests,
            records_path=out / "records.parquet",
            options=options,
            on_progress=display,
        )
    window = Window(first_index=flags["warmup_requests"])
    summary = summarize(load_records(result.records_path), slo=_slo(flags), window=window)
    inputs = {"records": digest_file(result.records_path)}
    write_artifact(out / "summary.json", kind="assay/summary/1", body=summary, inputs=inputs, seed=shape.seed)
    if as_json:
        print_json(summary)
    else:
        print_summary(summary, result)
    return _exit_code(result.info.is_partial, summary.outcomes)


def _exit_code(is_partial: bool, outcomes: Any) -> int:
    """Return 3 when not one request was answered: then nothing was measured."""
    if is_partial:
        return EXIT_INTERRUPTED
    return EXIT_FIT if outcomes.get("completed") or outcomes.get("cancelled") else EXIT_ENVIRONMENT


def _plan(flags: _Flags) -> tuple[Any, Any]:
    """Return the schedule and the requests; raises ``click.UsageError`` for flags that do not go together."""
    from itertools import cycle

    from assay.load.work import parse_lengths, read_dataset, synthetic

    if (flags.rate is None) == (flags.concurrency is None):
        raise click.UsageError("want exactly one of --rate and --concurrency")
    schedule = _open_schedule(flags) if flags.rate is not None else _closed_schedule(flags)
    if flags.dataset is not None:
        return schedule, cycle(read_dataset(flags.dataset).requests)
    prompt = parse_lengths(flags.prompt_tokens, where="--prompt-tokens")
    output = parse_lengths(flags.output_tokens, where="--output-tokens")
    return schedule, synthetic(count=schedule.total, prompt=prompt, output=output, seed=flags.seed).requests


def _closed_schedule(flags: _Flags) -> Any:
    from assay.load import closed_loop

    concurrency = flags.concurrency or 1
    total = flags.requests or _DEFAULT_REQUESTS
    if flags.duration is not None and flags.requests is None:
        total = min(_MAX_DRAWN_REQUESTS, round(concurrency * flags.duration * _CLOSED_LOOP_GUESS_RPS) + concurrency)
    return closed_loop(concurrency=concurrency, total=total)


def _open_schedule(flags: _Flags) -> Any:
    from assay.load import constant, gamma, poisson

    rate = flags.rate or 0.0
    total = flags.requests if flags.requests or flags.duration else _DEFAULT_REQUESTS
    duration = None if total else flags.duration
    if flags.schedule == "constant":
        return constant(rate_rps=rate, total=total or round(rate * (duration or 0)))
    if flags.schedule == "gamma":
        return gamma(rate_rps=rate, burstiness=flags.burstiness, seed=flags.seed, total=total, duration_s=duration)
    return poisson(rate_rps=rate, seed=flags.seed, total=total, duration_s=duration)


def _target(url: str, flags: dict[str, Any]) -> Any:
    from assay.load import Target

    return Target(
        url=url if "://" in url else f"http://{url}",
        model=flags["model"],
        api=flags["api"],
        api_key=_api_key(flags["api_key_env"]),
        headers=_headers(flags["headers"]),
        extra_body=_body(flags["body"]),
        ca_file=flags["ca_file"],
        unix_socket=flags["unix_socket"],
    )


def _api_key(variable: str | None) -> Any:
    from assay.core.errors import bad_input
    from assay.load import Secret

    if variable is None:
        return None
    value = os.environ.get(variable)
    if not value:
        raise bad_input(f"the environment variable {variable} is not set", where="--api-key-env")
    return Secret(value)


def _headers(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [header.partition(":") for header in given]
    if any(not colon or not name.strip() for name, colon, _ in pairs):
        raise click.UsageError("--header: want NAME:VALUE")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _body(text: str) -> dict[str, Any]:
    import json

    try:
        document = json.loads(text)
    except ValueError as error:
        raise click.UsageError(f"--body: not JSON: {error}") from error
    if not isinstance(document, dict):
        raise click.UsageError("--body: want a JSON object")
    return document


def _slo(flags: dict[str, Any]) -> Any:
    from assay.stats import SloLimits

    limits = {"ttft_s": flags["slo_ttft_ms"], "tpot_s": flags["slo_tpot_ms"], "e2e_s": flags["slo_e2e_ms"]}
    if not any(limits.values()):
        return None
    return SloLimits(**{name: None if value is None else value / 1000 for name, value in limits.items()})
