"""Handles of the library: closed once, by ``close``, a ``with`` block, or the garbage collector."""

from __future__ import annotations

import ctypes as c
import threading
import weakref
from types import TracebackType
from typing import TypeVar

from ._library import lib
from .errors import Code, Error

Self = TypeVar("Self", bound="Handle")


def _close(function: str, address: int) -> None:
    getattr(lib, function)(address)


class Handle:
    """What a runtime, a plan and a pipe have in common.

    One runtime with everything made from it is used by one thread at a time: its lock sees to that.
    """

    _closer = ""

    def __init__(self, handle: c.c_void_p, lock: threading.RLock | None = None) -> None:
        assert handle.value is not None
        self._lock = lock or threading.RLock()
        self._address = handle.value
        self._finalizer = weakref.finalize(self, _close, self._closer, handle.value)

    @property
    def _handle(self) -> c.c_void_p:
        if not self._finalizer.alive:
            raise Error(Code.STATE, f"the {type(self).__name__.lower()} is closed")
        return c.c_void_p(self._address)

    def close(self) -> None:
        """Gives back what it holds. Twice is fine."""
        with self._lock:
            self._finalizer()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return not self._finalizer.alive

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
