"""Timers to the microsecond: Linux may delay a wait by the timer slack, 50 µs by default (prctl, PR_SET_TIMERSLACK)."""

import contextlib
import ctypes
import os
import sys

_PR_SET_TIMERSLACK = 29
_SLACK_NS = 1
_NICE = -5


def set_fine_timers() -> bool:
    """Take the timer slack of this process down to 1 ns; returns False where that is not possible."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_TIMERSLACK, _SLACK_NS, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def raise_priority() -> None:
    """Go before ordinary processes where the system lets us: a load worker that waits for a core is late by as much."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)
