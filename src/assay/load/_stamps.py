"""Kernel receive timestamps, and how they come onto the run's monotonic line.

Linux stamps each segment when the network stack takes it (SO_TIMESTAMPING, software receive; Documentation/networking/
timestamping.rst) in CLOCK_REALTIME. Slewing moves both clocks alike, so their difference changes only when somebody
steps the wall clock; ``ClockMap`` notes each step and maps a stamp by the difference that held when it was made. The
stamp belongs to the last segment that a read consumed, so earlier events of one read are only bounded.
"""

import socket
import struct
import sys
import time
from collections.abc import Callable

# Values of include/uapi/linux/net_tstamp.h and asm-generic/socket.h, which the socket module does not name.
_SO_TIMESTAMPING = 37
_RX_SOFTWARE = 1 << 3
_SOFTWARE = 1 << 4
ANCILLARY_BYTES = socket.CMSG_SPACE(48)
"""Room for SCM_TIMESTAMPING: three ``struct timespec``, of which the first is the software stamp."""
unpack_stamp = struct.Struct("=qq32x").unpack
"""Seconds and nanoseconds of the software stamp."""

_STEP_NS = 200_000
"""A change of the difference below this is the time between two clock reads, not a step."""


def enable_kernel_stamps(sock: socket.socket) -> bool:
    """Ask for receive timestamps on a socket; returns False where the platform has none."""
    if not sys.platform.startswith("linux") or struct.calcsize("l") != 8:
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _RX_SOFTWARE | _SOFTWARE)
    except OSError:
        return False
    return True


class ClockMap:
    """Maps CLOCK_REALTIME to the monotonic line across steps of the wall clock."""

    __slots__ = ("_monotonic_ns", "_real_ns", "offset_ns", "offsets")

    def __init__(
        self,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        real_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._monotonic_ns, self._real_ns = monotonic_ns, real_ns
        self.offset_ns = self._measure()
        self.offsets = [self.offset_ns]

    def observe(self) -> bool:
        """Look at both clocks; returns True when the wall clock was stepped since the last look."""
        rough = self._real_ns() - self._monotonic_ns()
        if abs(rough - self.offset_ns) < _STEP_NS:
            return False
        exact = self._measure()
        if abs(exact - self.offset_ns) < _STEP_NS:
            return False
        self.offset_ns = exact
        self.offsets.append(exact)
        return True

    def to_monotonic_ns(self, stamp_ns: int, *, not_before_ns: int, not_after_ns: int) -> int | None:
        """Return the stamp on the monotonic line, or ``None`` when no known difference puts it between the bounds.

        The newest difference is tried first: a stamp made before a step falls outside the bounds under the new one.
        """
        for offset in reversed(self.offsets):
            if not_before_ns <= stamp_ns - offset <= not_after_ns:
                return stamp_ns - offset
        return None

    def _measure(self) -> int:
        """Return real - monotonic, from the tightest of several sandwiches of one reading between two of the other."""
        best_width, best = None, 0
        for _ in range(20):
            before = self._monotonic_ns()
            real = self._real_ns()
            after = self._monotonic_ns()
            if best_width is None or after - before < best_width:
                best_width, best = after - before, real - (before + after) // 2
        return best
