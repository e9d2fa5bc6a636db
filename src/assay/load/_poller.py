"""Waiting for sockets to the microsecond.

``epoll_wait`` takes whole milliseconds, which alone would make sends up to one millisecond late. An epoll descriptor
is itself selectable and ``select`` takes microseconds, so the wait happens there. Elsewhere ``selectors`` waits.
"""

import select
import selectors
import sys
from typing import Protocol

READ = 1
WRITE = 2


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
        """Return (descriptor, readiness) pairs, after at most ``timeout_ns``; trouble counts as both readinesses."""
        ...


class EpollPoller:
    """Linux."""

    _MASKS = (0, select.EPOLLIN, select.EPOLLOUT, select.EPOLLIN | select.EPOLLOUT) if sys.platform == "linux" else ()

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._own_fd = [self._epoll.fileno()]

    def add(self, fd: int, interest: int) -> None:
        """See ``Poller``."""
        self._epoll.register(fd, self._MASKS[interest])

    def change(self, fd: int, interest: int) -> None:
        """See ``Poller``."""
        self._epoll.modify(fd, self._MASKS[interest])

    def remove(self, fd: int) -> None:
        """See ``Poller``."""
        self._epoll.unregister(fd)

    def wait(self, timeout_ns: int) -> list[tuple[int, int]]:
        """See ``Poller``; EPOLLIN is 1 and EPOLLOUT is 4, everything else is trouble."""
        events = self._epoll.poll(0, 512)
        if not events and timeout_ns > 0:
            select.select(self._own_fd, (), (), timeout_ns / 1e9)
            events = self._epoll.poll(0, 512)
        return [(fd, READ if mask == 1 else _from_epoll(mask)) for fd, mask in events]


class SelectorPoller:
    """Everywhere else."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def add(self, fd: int, interest: int) -> None:
        """See ``Poller``."""
        self._selector.register(fd, interest)

    def change(self, fd: int, interest: int) -> None:
        """See ``Poller``."""
        self._selector.modify(fd, interest)

    def remove(self, fd: int) -> None:
        """See ``Poller``."""
        self._selector.unregister(fd)

    def wait(self, timeout_ns: int) -> list[tuple[int, int]]:
        """See ``Poller``."""
        return [(key.fd, mask) for key, mask in self._selector.select(timeout_ns / 1e9)]


def make_poller() -> Poller:
    """Return the best poller of this platform."""
    return EpollPoller() if sys.platform == "linux" else SelectorPoller()


def _from_epoll(mask: int) -> int:
    if mask & ~(select.EPOLLIN | select.EPOLLOUT):
        return READ | WRITE
    return (READ if mask & select.EPOLLIN else 0) | (WRITE if mask & select.EPOLLOUT else 0)
