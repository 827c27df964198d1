"""What goes wrong: one exception, with the library's code, its text and its facts."""

from __future__ import annotations

import enum
from typing import Mapping


class Code(enum.IntEnum):
    """The codes of ``switchyard/base.h``."""

    CANCELLED = 1
    UNKNOWN = 2
    ARGUMENT = 3
    TIMEOUT = 4
    NOT_FOUND = 5
    EXISTS = 6
    DENIED = 7
    NO_MEMORY = 8
    STATE = 9
    ABORTED = 10
    RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA = 15
    ABI = 64
    CONFIG = 65
    INFEASIBLE = 66
    DEVICE = 67
    COMM = 68
    AGAIN = 69


class Error(RuntimeError):
    """A call failed.

    ``code`` says how, ``notes`` holds facts such as ``layer``, ``stage``, ``device`` and ``micro_batch``; a traceback shows
    them below the text.
    """

    code: int
    notes: Mapping[str, str]

    def __init__(self, code: int, text: str, notes: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.code = Code(code) if code in Code._value2member_map_ else code
        self.notes = dict(notes or {})
        for key, value in self.notes.items():
            self.add_note(f"{key}: {value}")
