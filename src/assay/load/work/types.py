"""The result of a work source."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.core.caveat import Caveat
from assay.load.types import LoadRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """Lengths that a request may have; one outside is dropped whole, since a shortened request is another workload."""

    max_prompt_tokens: int | None = None
    max_output_tokens: int | None = None
    max_total_tokens: int | None = None
    """Prompt and output together: the server's context length."""

    def keeps(self, prompt_tokens: int, output_tokens: int) -> bool:
        """Return True for a request inside every limit."""
        return (
            _within(prompt_tokens, self.max_prompt_tokens)
            and _within(output_tokens, self.max_output_tokens)
            and _within(prompt_tokens + output_tokens, self.max_total_tokens)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Requests in their order, and what is known of them as a whole."""

    requests: tuple[LoadRequest, ...]
    arrivals_s: tuple[float, ...] | None = None
    """Arrival of each request after the first, in seconds; ``None`` when the source has no times."""
    source: str
    """For people: ``synthetic``, or the file and its format."""
    rows: int
    """Requests that the source holds."""
    dropped: int = 0
    """Of those, left out because they are longer than the clip allows."""
    unusable: int = 0
    """Of those, left out because they lack a prompt, a length or an output (failed requests of a log)."""
    notes: Mapping[str, float] = field(default_factory=dict)
    caveats: tuple[Caveat, ...] = ()

    @property
    def dropped_share(self) -> float:
        """Return the share of the source's requests that the clip left out."""
        return self.dropped / self.rows if self.rows else 0.0


def _within(value: int, limit: int | None) -> bool:
    return limit is None or value <= limit
