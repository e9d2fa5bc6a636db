"""Where time comes from: one monotonic line for measuring, one wall-clock reading a run for people.

``time.monotonic_ns`` is CLOCK_MONOTONIC on Linux, which all processes of one host share; ``perf_counter_ns`` reads
the same clock there. Tests hand in a scripted clock.
"""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A source of time that can be scripted in tests."""

    def now_ns(self) -> int:
        """Return the monotonic time in nanoseconds."""
        ...

    def now_utc(self) -> datetime:
        """Return the wall time, aware of its zone (UTC)."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait for ``seconds`` of this clock's time; a negative wait returns at once."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def now_ns(self) -> int:
        """Return CLOCK_MONOTONIC in nanoseconds."""
        return time.monotonic_ns()

    def now_utc(self) -> datetime:
        """Return the wall time in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Sleep for ``seconds``; a negative wait returns at once."""
        if seconds > 0:
            time.sleep(seconds)
