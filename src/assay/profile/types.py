"""The workload profile: what must be served, on what, how fast, and what counts as better.

These classes mirror the YAML file key by key; the file's units stand in the names (``_ms``, ``_gib``), and properties
give base units. ``None`` means that the profile does not say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Le, Lt, MinLen

_STRICT: Any = {"extra": "forbid"}

Text = Annotated[str, MinLen(1)]
Positive = Annotated[float, Gt(0)]
Count = Annotated[int, Gt(0)]
Share = Annotated[float, Gt(0), Le(1)]
Setting = str | int | float | bool

ArtifactFormat = Literal["gguf", "safetensors"]
Device = Literal["cpu", "cuda", "rocm"]
ObjectiveMetric = Literal["goodput_rps", "output_tokens_per_s", "ttft_p50_s", "tpot_p50_s"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactSource:
    """Where the model's bytes are: exactly one of ``path``, ``package`` with ``file``, or ``converted_from``."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    format: ArtifactFormat
    path: Text | None = None
    """A file (GGUF) or directory (safetensors), relative to the profile."""
    package: Text | None = None
    """A Python distribution that carries the file."""
    file: Text | None = None
    """The file's name inside ``package``."""
    converted_from: ArtifactFormat | None = None
    """Made by ``assay engines install`` from this other format of the same weights; results then carry a caveat."""

    def __post_init__(self) -> None:
        ways = [bool(self.path), bool(self.package), bool(self.converted_from)]
        if sum(ways) != 1:
            raise ValueError("want exactly one of 'path', 'package' (with 'file') or 'converted_from'")
        if bool(self.package) != bool(self.file):
            raise ValueError("'package' and 'file' go together")


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """The model to be served and the forms in which its weights are at hand."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    name: Text
    context_tokens: Count
    """Longest prompt plus output that one request may need, in tokens."""
    artifacts: Annotated[tuple[ArtifactSource, ...], MinLen(1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What serves the model."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    device: Device
    cores: Count | None = None
    """Processor cores for the engine; ``None`` takes all of this machine."""
    memory_gib: Positive | None = None
    """Memory for the engine in GiB; ``None`` takes what this machine has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestClass:
    """One kind of request of the mix."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    name: Text
    share: Share = 1.0
    """Part of all requests; the shares of a profile add up to 1."""
    isl_tokens: Count
    """Input sequence length (prompt) in tokens, as near as a prompt can be made without the model's tokenizer."""
    osl_tokens: Annotated[int, Ge(2)]
    """Output sequence length: the request's token limit. At least 2, for a TPOT needs two tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """How requests arrive: at a rate whether or not the server keeps up, or a fixed number in flight."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    arrivals: Literal["open_loop", "closed_loop"]
    rate_rps: Positive | None = None
    """Mean arrival rate of the open loop (Poisson), in requests per second."""
    concurrency: Count | None = None
    """Requests in flight of the closed loop."""
    requests_per_trial: Annotated[int, Ge(4)] = 24
    """Measured requests of one trial."""
    warmup_requests: Annotated[int, Ge(0)] = 4
    """Requests sent before the measured ones and kept out of every figure."""
    classes: Annotated[tuple[RequestClass, ...], MinLen(1)]

    def __post_init__(self) -> None:
        if self.arrivals == "open_loop" and self.rate_rps is None:
            raise ValueError("arrivals: open_loop needs 'rate_rps'")
        if self.arrivals == "closed_loop" and self.concurrency is None:
            raise ValueError("arrivals: closed_loop needs 'concurrency'")
        if self.rate_rps is not None and self.concurrency is not None:
            raise ValueError("'rate_rps' and 'concurrency' exclude each other: an open loop with a cap is neither")
        total = sum(entry.share for entry in self.classes)
        if abs(total - 1) > 1e-6:
            raise ValueError(f"the shares of 'classes' add up to {total:g}, want 1")
        names = [entry.name for entry in self.classes]
        if len(set(names)) != len(names):
            raise ValueError("two of 'classes' have the same name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """Limits that a request must keep to count as good, and the share of requests that must be good."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    ttft_ms: Positive | None = None
    """Time to first token, from when the request was due: what its user waits."""
    tpot_ms: Positive | None = None
    """Time per output token: (last token - first token) / (output tokens - 1)."""
    e2e_latency_ms: Positive | None = None
    """Last token, from when the request was due."""
    attainment: Annotated[float, Gt(0), Lt(1)] = 0.95
    """Share of the offered requests that must be good."""

    def __post_init__(self) -> None:
        if self.ttft_ms is None and self.tpot_ms is None and self.e2e_latency_ms is None:
            raise ValueError("want at least one of 'ttft_ms', 'tpot_ms', 'e2e_latency_ms'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """What is compared among the candidates that meet every requirement."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    metric: ObjectiveMetric = "goodput_rps"
    margin: Annotated[float, Gt(0), Lt(1)] = 0.05
    """Relative difference below which two candidates count as equivalent."""
    confidence: Annotated[float, Gt(0.5), Lt(1)] = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRequest:
    """One engine with settings that the team wants judged."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    name: Text
    engine: Text
    version: Text | None = None
    """Engine version; ``None`` takes the one that is installed."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """The engine's own options, spelled as that engine spells them, without the leading dashes."""
    url: Text | None = None
    """A server that runs already; Assay then neither starts nor stops it."""
    port: Annotated[int, Ge(1), Le(65535)] | None = None
    """Loopback port for the engine; ``None`` takes a free one."""

    def __post_init__(self) -> None:
        if self.url is not None and (self.settings or self.port is not None or self.version is not None):
            raise ValueError("'url' names a server that runs already: leave out 'settings', 'port' and 'version'")
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise ValueError(f'url: got "{self.url}", want an address such as http://127.0.0.1:8000')


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadProfile:
    """Everything that a selection is judged by."""

    __pydantic_config__: ClassVar[Any] = _STRICT

    schema: Literal["assay/profile/1"]
    name: Annotated[str, MinLen(1)]
    description: str = ""
    task: Literal["chat"] = "chat"
    model: Model
    hardware: Hardware
    traffic: Traffic
    slo: Slo
    objective: Objective = field(default_factory=Objective)
    candidates: Annotated[tuple[CandidateRequest, ...], MinLen(1)]
    seed: Annotated[int, Ge(0)] = 1
    """Seed of prompts, arrivals and trial order."""

    def __post_init__(self) -> None:
        names = [candidate.name for candidate in self.candidates]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"candidates: the name '{twice[0]}' stands twice")
        longest = max(entry.isl_tokens + entry.osl_tokens for entry in self.traffic.classes)
        if longest > self.model.context_tokens:
            raise ValueError(
                f"traffic.classes: a request of {longest} tokens (isl_tokens + osl_tokens) exceeds"
                f" model.context_tokens: {self.model.context_tokens}"
            )
