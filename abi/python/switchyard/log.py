"""Where the library's log lines go."""

from __future__ import annotations

import atexit
import enum
from typing import Any, Callable

from ._library import lib
from ._structs import LogSink


class Level(enum.IntEnum):
    """How much a line matters."""

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARNING = 3
    ERROR = 4


_kept: list[Any] = []  # a thread may still be inside an earlier one


def log_to(sink: Callable[[Level, str, str], object] | None) -> None:
    """Hands every log line of this process to ``sink(level, where, text)``, one at a time, on whatever thread has something to
    say. ``None``: warnings and errors to stderr, as it was. What the sink raises is shown and dropped."""
    if sink is None:
        lib.sy_log_sink(LogSink(), None)
        return
    called = sink
    function = LogSink(lambda user, level, where, text: called(Level(level), (where or b"").decode(), text.decode()) and None)
    _kept.append(function)
    lib.sy_log_sink(function, None)


atexit.register(log_to, None)  # no line may come here after Python has ended
