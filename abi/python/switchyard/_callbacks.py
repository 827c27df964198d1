"""Callbacks that may raise: nothing may cross C, so that the exception waits until the call has returned."""

from __future__ import annotations

from typing import Any, Callable


class Callbacks:
    """Wraps functions for C, keeps them alive, and remembers the first exception."""

    def __init__(self) -> None:
        self._kept: list[Any] = []
        self._raised: BaseException | None = None

    def wrap(self, kind: Any, function: Callable[..., Any] | None, convert: Callable[..., tuple[Any, ...]]) -> Any:
        """``function`` for C; its arguments go through ``convert``. Anything true that it returns, and any exception, ends
        the job."""
        if function is None:
            return kind()
        called = function

        def guarded(user: Any, *arguments: Any) -> int:
            if self._raised is not None:
                return 1
            try:
                return 1 if called(*convert(*arguments)) else 0
            except BaseException as e:  # raised again on the way back
                self._raised = e
                return 1

        self._kept.append(kind(guarded))
        return self._kept[-1]

    def raise_first(self) -> None:
        """Raises what a callback raised."""
        if self._raised is not None:
            raise self._raised
