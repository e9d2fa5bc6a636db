"""How many connections this process may hold: the descriptor limit, raised as far as the system lets us."""

import resource

_RESERVE = 64
"""Descriptors kept for files, pipes and the interpreter."""


def connection_limit() -> int:
    """Raise the soft descriptor limit to the hard one and return how many connections fit; children inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (OSError, ValueError):
            pass
    if soft == resource.RLIM_INFINITY:
        return 1 << 20
    return max(1, soft - _RESERVE)
