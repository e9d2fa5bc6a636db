"""The objectives: their titles, formulas and units, in one place for every text that names them."""

from collections.abc import Mapping

from assay.core.units import format_duration, format_number

TITLES: Mapping[str, str] = {
    "goodput_rps": "Goodput",
    "output_tokens_per_s": "Output tokens/s",
    "ttft_p50_s": "Median TTFT",
    "tpot_p50_s": "Median TPOT",
}
FORMULAS: Mapping[str, str] = {
    "goodput_rps": "Goodput = requests that kept every SLO limit / (last end - first due time), in requests/s",
    "output_tokens_per_s": "Output tokens/s = output tokens of completed requests / (last end - first due time)",
    "ttft_p50_s": "TTFT = first token - request sent",
    "tpot_p50_s": "TPOT = (last token - first token) / (output tokens - 1)",
}


def title_of(metric: str) -> str:
    """Return the metric's name for people."""
    return TITLES.get(metric, metric)


def describe_value(metric: str, value: float | None) -> str:
    """Return a value with its unit."""
    if value is None:
        return "no value"
    if metric.endswith("_rps"):
        return f"{format_number(value)} requests/s"
    return f"{format_number(value)} tokens/s" if metric.endswith("_per_s") else format_duration(value)
