"""What is sent, where to, and what is known of each request afterwards.

Times end in ``_at_ns`` and lie on one monotonic line (CLOCK_MONOTONIC) of this host. ``None`` means not known, never 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from assay.core.caveat import Caveat
from assay.core.units import NS_PER_S

Api = Literal["chat", "completions", "embeddings"]
StampSource = Literal["kernel", "userspace"]
Outcome = Literal[
    "completed",
    "client_error",
    "network_error",
    "http_error",
    "stream_error",
    "bad_response",
    "truncated",
    "empty",
    "timed_out",
    "cancelled",
    "dropped",
    "censored",
]
"""How a request ended.

Failures: ``client_error`` is our own fault (no descriptor left), ``network_error`` a refused, reset or unreachable
connection, ``http_error`` a status other than 2xx, ``stream_error`` an error object inside the stream, ``bad_response``
an answer that is not what was asked for (not HTTP, not a stream), ``truncated`` an end without a finish reason,
``empty`` a whole answer without any output, ``timed_out`` our deadline. The rest: ``cancelled`` was cut by plan,
``dropped`` never sent though due, ``censored`` still running when the run ended."""
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
NOT_FAILED: frozenset[str] = frozenset({"completed", "cancelled", "dropped", "censored"})


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that never shows itself in a message, a log or a file."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return "***"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A server under load."""

    url: str
    """``http://host:port``, with or without ``/v1`` or the endpoint's own path."""
    model: str
    api: Api = "chat"
    is_streaming: bool = True
    """Ask for a stream of events; ``False`` asks for one JSON answer, which has no time to first token."""
    api_key: Secret | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent with each request; they may hold secrets and are never printed or written."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    """Fields added to each request's body; ``None`` as a value removes a field that Assay would send."""
    ca_file: Path | None = None
    """Certificates to trust for ``https``; ``None`` takes the system's."""
    unix_socket: Path | None = None
    """Connect to this socket; ``url`` then only names the host header and the path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a chat."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRequest:
    """The work of one request: ``messages`` for a chat, ``prompt`` for the rest (and for a chat of one message)."""

    messages: tuple[Message, ...] = ()
    prompt: str | None = None
    max_tokens: int | None = None
    """Output token limit; ``None`` leaves it to the server."""
    class_name: str = "default"
    prompt_tokens: int | None = None
    """Prompt length that the planner meant, in tokens; the server's own count may differ."""
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    session: int | None = None
    """Turns of one session follow one another; ``None`` is a request of its own."""
    think_time_s: float = 0.0
    """Pause between the end of the session's previous turn and this one, in seconds."""
    cancel_after_s: float | None = None
    """Cut the connection this long after the send; ``None`` never."""
    cancel_after_chunks: int | None = None
    """Cut the connection after this many events of the stream; ``None`` never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """How the load is carried out; what is measured does not depend on it."""

    workers: int = 1
    """Worker processes; request i goes to worker i mod ``workers``."""
    deadline_s: float = 600.0
    """Longest life of one request from its send (or its connect), in seconds; checked every 50 ms."""
    drain_s: float = 60.0
    """How long the end of the run waits for requests in flight; what still runs then is ``censored``."""
    duration_s: float | None = None
    """Close the schedule this long after the start; ``None`` ends with the last request."""
    connect_timeout_s: float = 10.0
    max_in_flight: int | None = None
    """A due request over this limit is ``dropped`` and counted; ``None`` takes what the descriptor limit allows."""
    is_keep_alive: bool = True
    preconnect: int | None = None
    """Connections opened before the start; ``None`` takes the concurrency of a closed loop and none in an open loop."""
    is_kernel_stamped: bool = True
    """Use kernel receive timestamps where the platform has them."""
    keep_text: bool = False
    """Keep the generated text in the records."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProgress:
    """Where a run stands; counts so far, taken from the transport before any answer was read."""

    elapsed_s: float
    planned: int
    """Requests of the whole schedule."""
    sent: int
    in_flight: int
    ended_well: int
    ended_badly: int
    reads: int
    """Socket reads that carried response bytes."""
    is_draining: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReport:
    """What one worker process says of itself."""

    worker: int
    requests: int
    """Requests that it wrote a record of."""
    reads: int
    cpu_s: float
    """Processor time (user and system) between the start of the load and its end."""
    wall_s: float
    clock_steps: int
    """Steps of the wall clock that were seen and mapped away."""
    unstamped_reads: int
    """Reads without a kernel timestamp, stamped at the read."""
    died: str | None = None
    """Why the worker ended early; ``None`` when it ended as it should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """What happened to one scheduled request."""

    index: int
    """Place in the schedule, from 0."""
    class_name: str
    outcome: Outcome
    scheduled_at_ns: int
    """When it was due: drawn beforehand (open loop), or when its slot became free (closed loop)."""
    connect_started_at_ns: int | None = None
    """``None`` when a kept-alive connection was used."""
    connected_at_ns: int | None = None
    sent_at_ns: int | None = None
    """Just before the first byte of the request went to the socket; ``None`` when nothing was sent."""
    headers_at_ns: int | None = None
    """First byte of the response."""
    first_token_at_ns: int | None = None
    """First chunk that carried output of any kind: content, reasoning or a tool call."""
    first_token_after_ns: int | None = None
    """When that chunk shared its read with later ones: it arrived after this and not after ``first_token_at_ns``."""
    first_content_at_ns: int | None = None
    first_reasoning_at_ns: int | None = None
    first_tool_call_at_ns: int | None = None
    last_token_at_ns: int | None = None
    """Last chunk that carried output of any kind."""
    finished_at_ns: int | None = None
    """End of the response as the transport saw it, or of our patience."""
    http_status: int | None = None
    finish_reason: str | None = None
    error: str | None = None
    """What went wrong, at most 300 characters; ``None`` when nothing did."""
    prompt_tokens: int | None = None
    """From the server's usage; ``None`` when it sent none."""
    cached_prompt_tokens: int | None = None
    output_tokens: int | None = None
    """From the server's usage, reasoning included as the server counts it; ``None`` when it sent none."""
    reasoning_tokens: int | None = None
    requested_prompt_tokens: int | None = None
    requested_output_tokens: int | None = None
    chunk_count: int = 0
    """Chunks that carried output; a chunk is not a token."""
    chunk_at_ns: tuple[int, ...] = ()
    """Arrival of each of those chunks."""
    chunk_tokens: tuple[int, ...] | None = None
    """Tokens of each of those chunks, from continuous usage; ``None`` when the server sends usage once."""
    shared_read_chunks: int = 0
    """Output chunks whose arrival is only bounded, since a later chunk came in the same read."""
    choice_count: int = 0
    response_id: str | None = None
    """The ``id`` that the server gave its answer, to join with its log."""
    retries: int = 0
    """Sends repeated because a kept-alive connection turned out to be closed."""
    stamp_source: StampSource = "userspace"
    worker: int = 0
    session: int | None = None
    text: str | None = None
    """Generated text where ``LoadOptions.keep_text`` was set."""

    @property
    def send_lag_s(self) -> float | None:
        """How late the generator was: sent_at - scheduled_at, connect included."""
        return _span_s(self.scheduled_at_ns, self.sent_at_ns)

    @property
    def connect_s(self) -> float | None:
        """Connecting, TLS included: connected_at - connect_started_at; ``None`` on a kept-alive connection."""
        return _span_s(self.connect_started_at_ns, self.connected_at_ns)

    @property
    def ttft_s(self) -> float | None:
        """Time to first token from the send: first_token_at - sent_at."""
        return _span_s(self.sent_at_ns, self.first_token_at_ns)

    @property
    def ttft_from_schedule_s(self) -> float | None:
        """Time to first token from when it was due: first_token_at - scheduled_at."""
        return _span_s(self.scheduled_at_ns, self.first_token_at_ns)

    @property
    def ttft_content_s(self) -> float | None:
        """Time to the first visible content: first_content_at - sent_at."""
        return _span_s(self.sent_at_ns, self.first_content_at_ns)

    @property
    def tpot_s(self) -> float | None:
        """Time per output token: (last_token_at - first_token_at) / (tokens - 1).

        The tokens of the first chunk arrived with the first token; where they are known to be several, the divisor is
        the number of tokens after the first chunk. ``None`` below two tokens, when the server sent no usage, and for
        several choices, whose tokens share one total.
        """
        after_first = self._tokens_after_first_chunk()
        span = _span_s(self.first_token_at_ns, self.last_token_at_ns)
        return span / after_first if span is not None and after_first else None

    @property
    def e2e_latency_s(self) -> float | None:
        """Whole answer from the send: last_token_at - sent_at."""
        return _span_s(self.sent_at_ns, self.last_token_at_ns)

    @property
    def e2e_from_schedule_s(self) -> float | None:
        """Whole answer from when it was due: last_token_at - scheduled_at."""
        return _span_s(self.scheduled_at_ns, self.last_token_at_ns)

    @property
    def normalised_latency_s(self) -> float | None:
        """Seconds per output token, first token included: e2e_latency / output tokens."""
        whole = self.e2e_latency_s
        return whole / self.output_tokens if whole is not None and self.output_tokens else None

    @property
    def is_failed(self) -> bool:
        """True when the request was sent, or should have been, and no usable answer came."""
        return self.outcome not in NOT_FAILED

    def _tokens_after_first_chunk(self) -> int | None:
        if self.output_tokens is None or self.output_tokens < 2 or self.choice_count > 1:
            return None
        first = self.chunk_tokens[0] if self.chunk_tokens else 1
        return self.output_tokens - max(first, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What the records file says of the whole run."""

    target_url: str
    address: str
    """Where the connections went after name resolution."""
    api: Api
    model: str
    schedule_kind: str
    schedule_digest: str
    started_at_utc: str
    started_at_ns: int
    """Zero of the schedule."""
    closed_at_ns: int
    """When the last request was due, or when the schedule was closed."""
    ended_at_ns: int
    planned: int
    """Requests of the whole schedule."""
    offered: int
    """Requests that became due: the records, and the lost ones."""
    lost: int
    """Offered requests without a record, because their worker died."""
    outcomes: Mapping[str, int]
    """Number of records by outcome."""
    is_partial: bool
    """True when the run was interrupted or a worker died."""
    stamp_source: StampSource
    workers: tuple[WorkerReport, ...]
    caveats: tuple[Caveat, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """What ``run_load`` hands back: the run in figures, and where its records lie."""

    records_path: Path
    schedule_path: Path
    info: RunInfo


def _span_s(start_ns: int | None, end_ns: int | None) -> float | None:
    return None if start_ns is None or end_ns is None else (end_ns - start_ns) / NS_PER_S
