"""A profile in words: what was asked, line by line."""

from assay.core.units import format_number, format_percent
from assay.profile import Hardware, Slo, Traffic, WorkloadProfile


def describe_profile(profile: WorkloadProfile) -> tuple[tuple[str, str], ...]:
    """Return name and text of each requirement, for the terminal and the report."""
    objective = profile.objective
    return (
        ("Model", f"{profile.model.name}, {profile.model.context_tokens} tokens of context, task {profile.task}"),
        ("Hardware", _hardware(profile.hardware)),
        ("Arrivals", _arrivals(profile.traffic)),
        ("Requests", "; ".join(_class_lines(profile.traffic))),
        ("Good request", _limits(profile.slo)),
        ("Needed", f"{format_percent(profile.slo.attainment)} of the offered requests are good"),
        (
            "Objective",
            (
                f"{objective.metric}; differences under {format_percent(objective.margin)} do not matter; confidence"
                f" {format_percent(objective.confidence)}"
            ),
        ),
        ("Candidates", ", ".join(entry.name for entry in profile.candidates)),
    )


def _hardware(hardware: Hardware) -> str:
    parts: list[str] = [hardware.device]
    if hardware.cores is not None:
        parts.append(f"{hardware.cores} cores")
    if hardware.memory_gib is not None:
        parts.append(f"{format_number(hardware.memory_gib)} GiB")
    return ", ".join(parts)


def _arrivals(traffic: Traffic) -> str:
    per_trial = f"{traffic.requests_per_trial} measured requests a trial after {traffic.warmup_requests} for warm-up"
    if traffic.concurrency is not None:
        return f"closed loop, {traffic.concurrency} in flight; {per_trial}"
    return f"open loop, Poisson, {format_number(traffic.rate_rps)} requests/s; {per_trial}"


def _class_lines(traffic: Traffic) -> list[str]:
    return [
        f"{format_percent(entry.share)} {entry.name}: about {entry.isl_tokens} tokens in, {entry.osl_tokens} out"
        for entry in traffic.classes
    ]


def _limits(slo: Slo) -> str:
    limits = (("TTFT", slo.ttft_ms), ("TPOT", slo.tpot_ms), ("end-to-end latency", slo.e2e_latency_ms))
    return " and ".join(f"{name} <= {format_number(limit)} ms" for name, limit in limits if limit is not None)
