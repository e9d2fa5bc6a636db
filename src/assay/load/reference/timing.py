"""How the reference server times its answers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceTiming:
    """The delays of every stream, in seconds; the number of tokens is the request's ``max_tokens``."""

    ttft_s: float = 0.05
    """From the arrival of the request's last byte to the send of the first chunk."""
    itl_s: float = 0.01
    """From one chunk to the next; 0 sends all chunks at once."""
    tokens_per_chunk: int = 1
    default_tokens: int = 16
    """Tokens of a request that sets no limit."""
    slots: int | None = None
    """Streams served at a time, others wait in order of arrival; ``None`` serves all."""
    stall_at_s: float | None = None
    """Sends nothing from this time after its first request on; ``None`` never stalls."""
    stall_s: float = 0.0
    """Length of the stall; what was due in it goes out at its end."""
