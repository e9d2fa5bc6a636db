"""Timers to the microsecond: Linux may delay a wait by the timer slack, 50 µs by default (prctl, PR_SET_TIMERSLACK)."""

import ctypes
import sys

_PR_SET_TIMERSLACK = 29
_SLACK_NS = 1


def set_fine_timers() -> bool:
    """Take the timer slack of this process down to 1 ns; returns False where that is not possible."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_TIMERSLACK, _SLACK_NS, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False
