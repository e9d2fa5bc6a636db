"""When is each request due? Absolute offsets, drawn once from one seeded generator before the run.

Workers only execute them, so that no process draws, sleeps relative to another request, or shares a seed. Each arrival
process is a pure generator of offsets. Method: renewal processes by inverse transform (Devroye, Non-Uniform Random
Variate Generation, 1986, II.2); only ``Random.random`` and ``gammavariate`` are drawn on, never the global generator.
"""

import math
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, islice, takewhile
from pathlib import Path
from random import Random
from typing import Literal

from assay.core.artifact import read_artifact, write_artifact
from assay.core.errors import bad_input
from assay.core.ids import digest_bytes
from assay.core.units import NS_PER_S

SCHEDULE_KIND = "assay/schedule/1"
Loop = Literal["open_loop", "closed_loop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The arrivals of one run: offsets from its start (open loop), or a number in flight (closed loop)."""

    loop: Loop
    kind: str
    """The arrival process, such as ``poisson``."""
    arrivals_ns: tuple[int, ...] = ()
    """Offsets from the start in nanoseconds, ascending; empty in a closed loop."""
    concurrency: int | None = None
    """Requests in flight of a closed loop."""
    total: int
    """Number of arrivals; an arrival is one request, or the first turn of a session."""
    seed: int | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)
    """What the process was drawn with, for people."""

    def __post_init__(self) -> None:
        if self.loop == "open_loop" and len(self.arrivals_ns) != self.total:
            raise ValueError(f"schedule: total is {self.total}, but there are {len(self.arrivals_ns)} arrivals")
        if any(later < earlier for earlier, later in zip(self.arrivals_ns, self.arrivals_ns[1:], strict=False)):
            raise ValueError("schedule: the arrivals do not ascend")
        if self.loop == "closed_loop" and (self.concurrency is None or self.concurrency < 1):
            raise ValueError("schedule: a closed loop needs a concurrency of at least 1")

    @property
    def digest(self) -> str:
        """Digest of the arrivals as 64-bit little-endian offsets, or of the closed loop's two numbers."""
        numbers = self.arrivals_ns or (self.concurrency or 0, self.total)
        return digest_bytes(array("q", numbers).tobytes())

    @property
    def duration_s(self) -> float | None:
        """Offset of the last arrival in seconds; ``None`` in a closed loop."""
        return self.arrivals_ns[-1] / NS_PER_S if self.arrivals_ns else None


def constant(*, rate_rps: float, total: int) -> Schedule:
    """Return arrivals exactly ``1 / rate_rps`` apart; the k-th is due at k / rate, so rounding never accumulates."""
    _require_rate(rate_rps)
    offsets = tuple(round(k * NS_PER_S / rate_rps) for k in range(total))
    return Schedule(
        loop="open_loop", kind="constant", arrivals_ns=offsets, total=total, parameters={"rate_rps": rate_rps}
    )


def poisson(*, rate_rps: float, seed: int, total: int | None = None, duration_s: float | None = None) -> Schedule:
    """Return a Poisson process: independent exponential gaps of mean ``1 / rate_rps``.

    Give ``total`` (that many arrivals) or ``duration_s`` (all arrivals before that time, whose number is random).
    """
    _require_rate(rate_rps)
    rng = Random(seed)  # noqa: S311 - a load schedule, not a secret.
    gaps = (-math.log(1.0 - rng.random()) / rate_rps for _ in iter(int, 1))
    parameters = {"rate_rps": rate_rps}
    return _open_loop("poisson", gaps, total=total, duration_s=duration_s, seed=seed, parameters=parameters)


def gamma(
    *, rate_rps: float, burstiness: float, seed: int, total: int | None = None, duration_s: float | None = None
) -> Schedule:
    """Return a renewal process with gamma gaps of shape ``burstiness``: below 1 burstier than Poisson, 1 is Poisson.

    The coefficient of variation of the gaps is 1 / sqrt(burstiness), as in ``vllm bench serve --burstiness``.
    """
    _require_rate(rate_rps)
    if burstiness <= 0:
        raise bad_input(f"got {burstiness:g}, want a number > 0", where="burstiness")
    rng = Random(seed)  # noqa: S311
    gaps = (rng.gammavariate(burstiness, 1.0 / (rate_rps * burstiness)) for _ in iter(int, 1))
    parameters = {"rate_rps": rate_rps, "burstiness": burstiness}
    return _open_loop("gamma", gaps, total=total, duration_s=duration_s, seed=seed, parameters=parameters)


def closed_loop(*, concurrency: int, total: int) -> Schedule:
    """Return a closed loop: ``concurrency`` requests in flight until ``total`` were sent."""
    if concurrency < 1:
        raise bad_input(f"got {concurrency}, want a whole number >= 1", where="concurrency")
    if total < 1:
        raise bad_input(f"got {total}, want a whole number >= 1", where="total")
    return Schedule(
        loop="closed_loop",
        kind="closed_loop",
        concurrency=concurrency,
        total=total,
        parameters={"concurrency": concurrency},
    )


def save_schedule(path: Path, schedule: Schedule) -> str:
    """Write the schedule so that another run can follow it to the nanosecond; returns the file's digest."""
    return write_artifact(path, kind=SCHEDULE_KIND, body=schedule, inputs={}, seed=schedule.seed)


def load_schedule(path: Path) -> Schedule:
    """Read a schedule that ``save_schedule`` wrote; raises ``BadInputError``."""
    return read_artifact(path, kind=SCHEDULE_KIND, body_type=Schedule).body


def _require_rate(rate_rps: float) -> None:
    if not (math.isfinite(rate_rps) and rate_rps > 0):
        raise bad_input(f"got {rate_rps:g}, want a finite number > 0", where="rate_rps")


def _open_loop(
    kind: str,
    gaps: Iterable[float],
    *,
    total: int | None,
    duration_s: float | None,
    seed: int,
    parameters: Mapping[str, float],
) -> Schedule:
    if (total is None) == (duration_s is None):
        raise bad_input("want exactly one of 'total' and 'duration_s'", where="schedule")
    offsets = accumulate(gaps)
    if duration_s is not None:
        limit = duration_s
        drawn = tuple(round(offset * NS_PER_S) for offset in takewhile(lambda offset: offset < limit, offsets))
    else:
        drawn = tuple(round(offset * NS_PER_S) for offset in islice(offsets, total))
    return Schedule(
        loop="open_loop", kind=kind, arrivals_ns=drawn, total=len(drawn), seed=seed, parameters=dict(parameters)
    )
