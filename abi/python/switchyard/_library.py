"""libswitchyard.so.1: where it is, what its functions take, and how its errors become exceptions."""

from __future__ import annotations

import ctypes as c
import os
import pathlib
from typing import Any

from ._structs import (
    BenchOptions,
    CheckOptions,
    GenerateOptions,
    LogSink,
    ParameterInfo,
    RuntimeOptions,
    StepResult,
    TrainOptions,
    View,
)
from .errors import Error

NAME = "libswitchyard.so.1"
ABI = (0, 1)

_handle, _out = c.c_void_p, c.POINTER(c.c_void_p)
_text_out, _text = c.POINTER(c.c_void_p), c.c_char_p
_count = c.POINTER(c.c_uint32)
_ids = c.POINTER(c.c_int32)

# Parameters of the functions that return a code; the error comes last and is added by declare().
_FALLIBLE: dict[str, list[Any]] = {
    "sy_runtime_open": [c.POINTER(RuntimeOptions), _out],
    "sy_plugin_load": [_handle, _text],
    "sy_plugin_register": [_handle, c.c_void_p],
    "sy_plugins": [_handle, _text_out],
    "sy_devices": [_handle, _text_out],
    "sy_describe": [_handle, _text, _text_out],
    "sy_config_print": [_handle, _text_out],
    "sy_plan_make": [_handle, _out],
    "sy_plan_measure": [_handle],
    "sy_plan_text": [_handle, _text_out],
    "sy_plan_json": [_handle, _text_out],
    "sy_plan_html": [_handle, _text_out],
    "sy_plan_trace": [_handle, _text_out],
    "sy_plan_sweep": [_handle, _text_out, _text_out, _text_out],
    "sy_plan_schedule": [_handle, _text_out],
    "sy_plan_stage_of_layer": [_handle, _ids, c.c_uint32, _count],
    "sy_plan_device_of_stage": [_handle, _ids, c.c_uint32, _count],
    "sy_plan_layer_name": [_handle, c.c_uint32, c.POINTER(c.c_char_p)],
    "sy_plan_device_name": [_handle, c.c_uint32, c.POINTER(c.c_char_p)],
    "sy_pipe_build": [_handle, _out],
    "sy_pipe_step": [_handle, c.POINTER(View), c.POINTER(View), c.POINTER(StepResult)],
    "sy_pipe_evaluate": [_handle, c.POINTER(View), c.POINTER(View), c.POINTER(StepResult)],
    "sy_pipe_micro_losses": [_handle, c.POINTER(c.c_double), c.c_uint32, _count],
    "sy_pipe_forward": [_handle, c.POINTER(View), c.c_uint32, _out],
    "sy_pipe_parameter_count": [_handle, _count],
    "sy_pipe_parameter": [_handle, c.c_uint32, c.POINTER(ParameterInfo)],
    "sy_pipe_find": [_handle, _text, _count],
    "sy_pipe_read": [_handle, c.c_uint32, c.c_void_p, c.c_uint64],
    "sy_pipe_write": [_handle, c.c_uint32, c.c_void_p, c.c_uint64],
    "sy_pipe_read_gradient": [_handle, c.c_uint32, c.c_void_p, c.c_uint64],
    "sy_pipe_save": [_handle, _text],
    "sy_pipe_load": [_handle, _text],
    "sy_pipe_peaks": [_handle, _text_out],
    "sy_pipe_cancel": [_handle],
    "sy_train": [_handle, c.POINTER(TrainOptions), _text_out],
    "sy_evaluate": [_handle, _text_out],
    "sy_generate": [_handle, c.POINTER(GenerateOptions), _text_out],
    "sy_compare": [_handle, c.c_int64, _text_out, _text_out],
    "sy_bench": [_handle, c.POINTER(BenchOptions), _text_out, _text_out],
    "sy_inspect": [_handle, _text, _text_out, _text_out],
    "sy_plugin_check": [_handle, _text, c.POINTER(CheckOptions), _text_out],
    "sy_tensor_from_dlpack": [c.c_void_p, c.c_void_p, _out],
    "sy_tensor_to_dlpack": [_handle, _out],
}
# The others: result and parameters.
_PLAIN: dict[str, tuple[Any, list[Any]]] = {
    "sy_version": (c.c_char_p, []),
    "sy_abi": (None, [_count, _count]),
    "sy_error_code": (c.c_int32, [_handle]),
    "sy_error_text": (c.c_char_p, [_handle]),
    "sy_error_note": (c.c_char_p, [_handle, _text]),
    "sy_error_note_key": (c.c_char_p, [_handle, c.c_uint32]),
    "sy_error_free": (None, [_handle]),
    "sy_code_name": (c.c_char_p, [c.c_int32]),
    "sy_free": (None, [c.c_void_p]),
    "sy_log_sink": (None, [LogSink, c.c_void_p]),
    "sy_runtime_close": (None, [_handle]),
    "sy_plan_free": (None, [_handle]),
    "sy_pipe_close": (None, [_handle]),
    "sy_tensor_view": (c.POINTER(View), [_handle]),
    "sy_tensor_keep": (None, [_handle]),
    "sy_tensor_drop": (None, [_handle]),
}


def find_library() -> str:
    """What is opened: ``SWITCHYARD_LIBRARY``, else the library inside the package, else the one that the loader finds."""
    named = os.environ.get("SWITCHYARD_LIBRARY")
    if named:
        return os.path.abspath(named) if os.sep in named else named
    inside = pathlib.Path(__file__).parent / "lib" / NAME
    return str(inside) if inside.exists() else NAME


def declare(library: c.CDLL) -> c.CDLL:
    """Tells ctypes what each function takes and returns."""
    for name, parameters in _FALLIBLE.items():
        function = getattr(library, name)
        function.restype, function.argtypes = c.c_int32, [*parameters, _out]
    for name, (result, parameters) in _PLAIN.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, parameters
    return library


def _open() -> c.CDLL:
    path = find_library()
    try:
        library = c.CDLL(path)
    except OSError as e:
        raise ImportError(
            f"{path} cannot be opened: {e}. Install Switchyard, or name the library in SWITCHYARD_LIBRARY"
        ) from None
    major, minor = c.c_uint32(), c.c_uint32()
    library.sy_abi(c.byref(major), c.byref(minor))
    if (major.value, minor.value) != ABI:
        raise ImportError(f"{path} speaks ABI {major.value}.{minor.value}, this package {ABI[0]}.{ABI[1]}")
    return declare(library)


lib = _open()


def error_of(code: int, handle: c.c_void_p) -> Error:
    """The exception for an error object, which is freed."""
    text = lib.sy_error_text(handle).decode()
    notes: dict[str, str] = {}
    while (key := lib.sy_error_note_key(handle, len(notes))) is not None:
        notes[key.decode()] = lib.sy_error_note(handle, key).decode()
    lib.sy_error_free(handle)
    return Error(code, text or lib.sy_code_name(code).decode(), notes)


def call(name: str, *arguments: Any) -> None:
    """Calls a function whose last parameter is the error; raises :class:`Error`."""
    error = c.c_void_p()
    code = getattr(lib, name)(*arguments, c.byref(error))
    if code != 0:
        raise error_of(code, error)


def take_text(given: c.c_void_p) -> str:
    """Text that a function gave, freed."""
    text = c.string_at(given).decode() if given.value else ""
    lib.sy_free(given)
    return text


def text_of(name: str, *arguments: Any) -> str:
    """Calls a function that gives one text."""
    given = c.c_void_p()
    call(name, *arguments, c.byref(given))
    return take_text(given)


def encode(text: str | os.PathLike[str] | None) -> bytes | None:
    """Text or a path for C; None stays NULL."""
    return None if text is None else os.fspath(text).encode()


def version() -> str:
    """The version of the library, such as ``"0.1.0"``."""
    result: bytes = lib.sy_version()
    return result.decode()
