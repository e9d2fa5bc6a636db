"""Waiting for sockets to the microsecond.

``epoll_wait`` takes whole milliseconds, which alone would make sends up to one millisecond late. An epoll descriptor
is itself selectable and ``select`` takes microseconds, so the wait happens there. Elsewhere ``selectors`` waits.
"""

import select
import selectors
import sys
from typing import Protocol

READ = 1
WRITE = 4
"""The values of EPOLLIN and EPOLLOUT, so that epoll's answer needs no translation; any other bit means trouble."""

_MAX_EVENTS = 512
_TO_SELECTORS = {
    READ: selectors.EVENT_READ,
    WRITE: selectors.EVENT_WRITE,
    READ | WRITE: selectors.EVENT_READ | selectors.EVENT_WRITE,
}
_FROM_SELECTORS = {mask: interest for interest, mask in _TO_SELECTORS.items()}


class Poller(Protocol):
    """What the worker needs of a readiness API."""

    def add(self, fd: int, interest: int) -> None:
        """Start to watch a descriptor for ``READ``, ``WRITE`` or both."""
        ...

    def change(self, fd: int, interest: int) -> None:
        """Watch a known descriptor for something else."""
        ...

    def remove(self, fd: int) -> None:
        """Stop watching; the descriptor must still be open."""
        ...

    def wait(self, timeout_ns: int) -> list[tuple[int, int]]:
        """Return (descriptor, readiness) pairs, after at most ``timeout_ns``."""
        ...


class EpollPoller:
    """Linux."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._own_fd = [self._epoll.fileno()]

    def add(self, fd: int, interest: int) -> None:
        """See ``Poller``."""
        self._epoll.register(fd, interest)

    def change(self, fd: int, interest: int) -> None:
        """See ``Poller``."""
        self._epoll.modify(fd, interest)

    def remove(self, fd: int) -> None:
        """See ``Poller``."""
        self._epoll.unregister(fd)

    def wait(self, timeout_ns: int) -> list[tuple[int, int]]:
        """See ``Poller``."""
        events = self._epoll.poll(0, _MAX_EVENTS)
        if not events and timeout_ns > 0:
            select.select(self._own_fd, (), (), timeout_ns / 1e9)
            events = self._epoll.poll(0, _MAX_EVENTS)
        return events


class SelectorPoller:
    """Everywhere else."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def add(self, fd: int, interest: int) -> None:
        """See ``Poller``."""
        self._selector.register(fd, _TO_SELECTORS[interest])

    def change(self, fd: int, interest: int) -> None:
        """See ``Poller``."""
        self._selector.modify(fd, _TO_SELECTORS[interest])

    def remove(self, fd: int) -> None:
        """See ``Poller``."""
        self._selector.unregister(fd)

    def wait(self, timeout_ns: int) -> list[tuple[int, int]]:
        """See ``Poller``."""
        return [(key.fd, _FROM_SELECTORS[mask]) for key, mask in self._selector.select(max(0.0, timeout_ns / 1e9))]


def make_poller() -> Poller:
    """Return the best poller of this platform."""
    return EpollPoller() if sys.platform == "linux" else SelectorPoller()
