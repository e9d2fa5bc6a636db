"""What do the records of one run say, and how surely?

Counts add up, rates are over the offered load, and quantiles carry distribution-free intervals. The formulas are those
of ``RequestRecord``; each travels with its number. A metric is taken from completed requests only, so the share of the
others stands beside it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from assay.core.caveat import Caveat
from assay.core.units import NS_PER_S
from assay.load.types import NOT_FAILED, RequestRecord
from assay.stats._quantiles import Floats, clustered_quantile, quantile
from assay.stats.types import MetricSummary, Quantile, SloLimits, Summary, Window

QUANTILES = (0.5, 0.9, 0.99, 0.999)
_FAILED_SHARE = 0.01
"""Above this share of failed requests the rest may be the survivors of an overload."""
_SHARED_READ_SHARE = 0.05
"""Above this share of chunks that shared a read, gaps between chunks are blurred."""


@dataclass(frozen=True, slots=True)
class _Metric:
    name: str
    formula: str
    of: Callable[[RequestRecord], float | None]


_METRICS = (
    _Metric("ttft_s", "first token - request sent", lambda record: record.ttft_s),
    _Metric("ttft_from_schedule_s", "first token - request due", lambda record: record.ttft_from_schedule_s),
    _Metric("ttft_content_s", "first visible content - request sent", lambda record: record.ttft_content_s),
    _Metric(
        "tpot_s",
        "(last token - first token) / (output tokens - tokens of the first chunk)",
        lambda record: record.tpot_s,
    ),
    _Metric("e2e_latency_s", "last token - request sent", lambda record: record.e2e_latency_s),
    _Metric("e2e_from_schedule_s", "last token - request due", lambda record: record.e2e_from_schedule_s),
    _Metric("normalised_latency_s", "(last token - request sent) / output tokens", lambda r: r.normalised_latency_s),
    _Metric("connect_s", "connected - connect started, new connections only", lambda record: record.connect_s),
)


def summarize(
    records: Sequence[RequestRecord],
    *,
    slo: SloLimits | None = None,
    window: Window | None = None,
    confidence: float = 0.95,
) -> Summary:
    """Return counts, rates and quantiles of the records in ``window`` (all of them without one)."""
    window = window or Window()
    kept = _in_window(records, window)
    completed = [record for record in kept if record.outcome == "completed"]
    good = None if slo is None else [record for record in completed if is_good(record, slo)]
    duration_s = _duration_s(kept)
    judged = sum(record.outcome != "cancelled" for record in kept)
    low, high = _share_interval(len(good), judged, confidence) if good is not None and judged else (None, None)
    return Summary(
        offered=len(kept),
        outcomes=dict(sorted(Counter(record.outcome for record in kept).items())),
        failed=sum(record.outcome not in NOT_FAILED for record in kept),
        duration_s=duration_s,
        offered_rate_rps=_offered_rate_rps(kept),
        achieved_rate_rps=_per_second(len(completed), duration_s),
        output_tokens=_tokens(completed),
        output_tokens_per_s=_per_second(_tokens(completed), duration_s),
        good=None if good is None else len(good),
        goodput_rps=_per_second(None if good is None else len(good), duration_s),
        good_tokens_per_s=_per_second(None if good is None else _tokens(good), duration_s),
        attainment=len(good) / judged if good is not None and judged else None,
        attainment_low=low,
        attainment_high=high,
        confidence=confidence,
        metrics=tuple(_metrics(kept, completed, confidence)),
        caveats=tuple(_caveats(kept, completed, slo)),
        slo=slo,
        window=window,
    )


def is_good(record: RequestRecord, slo: SloLimits) -> bool:
    """Return True for a completed request within every limit; a value that is not known does not keep its limit.

    One output token has no time between tokens, so it keeps any limit on TPOT.
    """
    has_tpot = record.output_tokens != 1
    pairs = (
        (slo.ttft_s, record.ttft_from_schedule_s),
        (slo.tpot_s if has_tpot else None, record.tpot_s),
        (slo.e2e_s, record.e2e_from_schedule_s),
    )
    kept = all(limit is None or (value is not None and value <= limit) for limit, value in pairs)
    return record.outcome == "completed" and kept


def _in_window(records: Sequence[RequestRecord], window: Window) -> list[RequestRecord]:
    zero_ns = min((record.scheduled_at_ns for record in records), default=0)
    start_s = float("-inf") if window.start_s is None else window.start_s
    end_s = float("inf") if window.end_s is None else window.end_s
    return [
        record
        for record in records
        if record.index >= window.first_index and start_s <= (record.scheduled_at_ns - zero_ns) / NS_PER_S < end_s
    ]


def _duration_s(records: Sequence[RequestRecord]) -> float | None:
    ends = [record.finished_at_ns for record in records if record.finished_at_ns is not None]
    if not ends:
        return None
    return (max(ends) - min(record.scheduled_at_ns for record in records)) / NS_PER_S


def _offered_rate_rps(records: Sequence[RequestRecord]) -> float | None:
    """Return (n - 1) / (last due - first due): n arrivals enclose n - 1 gaps."""
    due = [record.scheduled_at_ns for record in records]
    if len(due) < 2 or max(due) == min(due):
        return None
    return (len(due) - 1) * NS_PER_S / (max(due) - min(due))


def _per_second(count: float | None, duration_s: float | None) -> float | None:
    return count / duration_s if count is not None and duration_s else None


def _tokens(records: Sequence[RequestRecord]) -> int | None:
    known = [record.output_tokens for record in records if record.output_tokens is not None]
    return sum(known) if known and len(known) == len(records) else None


def _share_interval(hits: int, n: int, confidence: float) -> tuple[float, float]:
    """Return the exact binomial interval of Clopper and Pearson (Biometrika 26, 1934)."""
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, n - hits + 1))
    high = 1.0 if hits == n else float(beta.ppf(1 - tail, hits + 1, n - hits))
    return low, high


def _metrics(
    kept: Sequence[RequestRecord], completed: Sequence[RequestRecord], confidence: float
) -> Iterator[MetricSummary]:
    for metric in _METRICS:
        values = [value for record in completed if (value := metric.of(record)) is not None]
        yield _independent(metric.name, metric.formula, values, confidence, reason=_reason(metric.name, completed))
    lags = [lag for record in kept if (lag := record.send_lag_s) is not None]
    yield _independent("send_lag_s", "request sent - request due", lags, confidence, reason="nothing was sent")
    chunk_gaps = [_gaps(record) for record in completed]
    yield _clustered("icl_s", "gap between chunks that carried output", chunk_gaps, confidence, reason="no chunks")
    token_gaps = [gaps for record, gaps in zip(completed, chunk_gaps, strict=True) if _has_one_token_chunks(record)]
    reason = "no answer is known to have come one token a chunk"
    yield _clustered("itl_s", "gap between tokens, of answers with one token a chunk", token_gaps, confidence, reason)


def _reason(name: str, completed: Sequence[RequestRecord]) -> str:
    if not completed:
        return "no request completed"
    if name in {"tpot_s", "normalised_latency_s"}:
        return "the server sent no usage, or no answer had two tokens"
    return "every request used a kept-alive connection" if name == "connect_s" else "no answer was streamed"


def _gaps(record: RequestRecord) -> Floats:
    stamps = np.asarray(record.chunk_at_ns, dtype=np.int64)
    gaps: Floats = np.diff(stamps) / NS_PER_S
    return gaps


def _has_one_token_chunks(record: RequestRecord) -> bool:
    if record.chunk_tokens is not None:
        return all(tokens == 1 for tokens in record.chunk_tokens)
    return record.output_tokens is not None and record.output_tokens == record.chunk_count


def _independent(name: str, formula: str, values: Sequence[float], confidence: float, reason: str) -> MetricSummary:
    array = np.asarray(values, dtype=np.float64)
    found = tuple(quantile(array, p, confidence) for p in QUANTILES)
    return _metric_summary(name, formula, array, len(values), found, reason)


def _clustered(name: str, formula: str, clusters: Sequence[Floats], confidence: float, reason: str) -> MetricSummary:
    filled = [cluster for cluster in clusters if len(cluster)]
    array = np.concatenate(filled) if filled else np.empty(0)
    found = tuple(clustered_quantile(filled, p, confidence) for p in QUANTILES)
    return _metric_summary(name, formula, array, len(filled), found, reason)


def _metric_summary(
    name: str, formula: str, values: Floats, requests: int, quantiles: tuple[Quantile, ...], reason: str
) -> MetricSummary:
    has_values = len(values) > 0
    return MetricSummary(
        name=name,
        formula=formula,
        unit="s",
        count=len(values),
        requests=requests,
        mean=float(values.mean()) if has_values else None,
        minimum=float(values.min()) if has_values else None,
        maximum=float(values.max()) if has_values else None,
        quantiles=quantiles,
        reason=None if has_values else reason,
    )


def _caveats(
    kept: Sequence[RequestRecord], completed: Sequence[RequestRecord], slo: SloLimits | None
) -> Iterator[Caveat]:
    failed = sum(record.outcome not in NOT_FAILED for record in kept)
    if kept and failed > _FAILED_SHARE * len(kept):
        text = f"{failed} of {len(kept)} requests failed; the latencies are those of the others."
        yield Caveat(id="load-failed-requests", text=text)
    censored = sum(record.outcome in {"censored", "dropped"} for record in kept)
    if censored:
        text = f"{censored} of {len(kept)} due requests were dropped or had not ended; they count as not good."
        yield Caveat(id="load-censored", text=text, remedy="lower the rate, or give the run a longer drain time")
    silent = sum(record.output_tokens is None for record in completed)
    if silent:
        text = f"{silent} of {len(completed)} answers came without usage, so their tokens are not known."
        yield Caveat(id="load-no-usage", text=text, subject="output_tokens")
    yield from _chunk_caveats(completed)
    if slo is not None and slo.tpot_s is not None and silent:
        text = f"{silent} answers without usage have no known TPOT and count as not good."
        yield Caveat(id="load-slo-unknown", text=text, subject="tpot_s")


def _chunk_caveats(completed: Sequence[RequestRecord]) -> Iterator[Caveat]:
    streamed = [record for record in completed if record.chunk_count]
    several = sum(
        record.output_tokens is not None and record.output_tokens != record.chunk_count for record in streamed
    )
    if several:
        text = f"In {several} of {len(streamed)} answers the number of chunks is not the number of tokens."
        yield Caveat(id="load-chunk-is-not-token", text=text, subject="itl_s")
    chunks = sum(record.chunk_count for record in streamed)
    shared = sum(record.shared_read_chunks for record in streamed)
    if chunks and shared > _SHARED_READ_SHARE * chunks:
        text = f"{shared} of {chunks} chunks came in one read with a later one; their arrival is only bounded."
        yield Caveat(id="load-shared-reads", text=text, subject="icl_s")
