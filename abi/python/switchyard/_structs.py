"""The structs of the C headers, field by field. Annotations tell types; ctypes reads ``_fields_`` alone."""

from __future__ import annotations

import ctypes as c
from typing import Any

CPU = 1
INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6


class DType(c.Structure):
    """``sy_dtype``"""

    code: int
    bits: int
    lanes: int
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class Device(c.Structure):
    """``sy_device``"""

    type: int
    index: int
    _fields_ = [("type", c.c_int32), ("index", c.c_int32)]


class View(c.Structure):
    """``sy_view``, which is DLPack's ``DLTensor`` byte for byte"""

    data: int | None
    device: Device
    ndim: int
    dtype: DType
    shape: Any
    strides: Any
    byte_offset: int
    _fields_ = [
        ("data", c.c_void_p),
        ("device", Device),
        ("ndim", c.c_int32),
        ("dtype", DType),
        ("shape", c.POINTER(c.c_int64)),
        ("strides", c.POINTER(c.c_int64)),
        ("byte_offset", c.c_uint64),
    ]


class Sized(c.Structure):
    """A struct that begins with its size, which is set here."""

    size: int

    def __init__(self, **fields: Any) -> None:
        super().__init__(c.sizeof(type(self)), **fields)


class RuntimeOptions(Sized):
    """``sy_runtime_options``"""

    _fields_ = [
        ("size", c.c_uint32),
        ("n_sets", c.c_uint32),
        ("config", c.c_char_p),
        ("text", c.c_char_p),
        ("folder", c.c_char_p),
        ("sets", c.POINTER(c.c_char_p)),
        ("rank", c.c_int32),
        ("ranks", c.c_int32),
        ("rendezvous", c.c_char_p),
    ]


class StepResult(Sized):
    """``sy_step_result``"""

    skipped: int
    step: int
    valid: int
    loss: float
    accuracy: float
    grad_norm: float
    lr: float
    loss_scale: float
    _fields_ = [
        ("size", c.c_uint32),
        ("skipped", c.c_uint32),
        ("step", c.c_int64),
        ("valid", c.c_int64),
        ("loss", c.c_double),
        ("accuracy", c.c_double),
        ("grad_norm", c.c_double),
        ("lr", c.c_double),
        ("loss_scale", c.c_double),
    ]


class ParameterInfo(Sized):
    """``sy_parameter``"""

    kind: int
    trainable: int
    owner: int
    device: int
    dtype: DType
    ndim: int
    shape: Any
    bytes: int
    name: Any
    _fields_ = [
        ("size", c.c_uint32),
        ("kind", c.c_uint32),
        ("trainable", c.c_uint32),
        ("owner", c.c_int32),
        ("device", c.c_int32),
        ("dtype", DType),
        ("ndim", c.c_int32),
        ("reserved", c.c_uint32),
        ("shape", c.c_int64 * 8),
        ("bytes", c.c_uint64),
        ("name", c.c_char_p),
    ]


class Peak(c.Structure):
    """``sy_peak``"""

    device: bytes
    planned: int
    measured: int
    _fields_ = [
        ("size", c.c_uint32),
        ("reserved", c.c_uint32),
        ("device", c.c_char_p),
        ("planned", c.c_uint64),
        ("measured", c.c_uint64),
    ]


class Report(c.Structure):
    """``sy_report``"""

    skipped: int
    step: int
    steps: int
    tokens: int
    loss: float
    grad_norm: float
    lr: float
    loss_scale: float
    accuracy: float
    val_loss: float
    val_accuracy: float
    tokens_per_s: float
    seconds: float
    seconds_left: float
    counts_tokens: int
    n_peaks: int
    peaks: Any
    _fields_ = [
        ("size", c.c_uint32),
        ("skipped", c.c_uint32),
        ("step", c.c_int64),
        ("steps", c.c_int64),
        ("tokens", c.c_int64),
        ("loss", c.c_double),
        ("grad_norm", c.c_double),
        ("lr", c.c_double),
        ("loss_scale", c.c_double),
        ("accuracy", c.c_double),
        ("val_loss", c.c_double),
        ("val_accuracy", c.c_double),
        ("tokens_per_s", c.c_double),
        ("seconds", c.c_double),
        ("seconds_left", c.c_double),
        ("counts_tokens", c.c_uint32),
        ("n_peaks", c.c_uint32),
        ("peaks", c.POINTER(c.POINTER(Peak))),
    ]


OnPlan = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p, c.c_char_p)
OnReport = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.POINTER(Report))
OnEvent = c.CFUNCTYPE(None, c.c_void_p, c.c_char_p)
OnText = c.CFUNCTYPE(c.c_int32, c.c_void_p, c.c_char_p)
LogSink: Any = c.CFUNCTYPE(None, c.c_void_p, c.c_int32, c.c_char_p, c.c_char_p)


class TrainOptions(Sized):
    """``sy_train_options``"""

    _fields_ = [
        ("size", c.c_uint32),
        ("flags", c.c_uint32),
        ("out", c.c_char_p),
        ("resume", c.c_char_p),
        ("at_most", c.c_int64),
        ("user", c.c_void_p),
        ("on_plan", OnPlan),
        ("on_step", OnReport),
        ("on_report", OnReport),
        ("on_event", OnEvent),
        ("trace", c.c_char_p),
    ]


class BenchOptions(Sized):
    """``sy_bench_options``"""

    _fields_ = [
        ("size", c.c_uint32),
        ("reserved", c.c_uint32),
        ("steps", c.c_int64),
        ("warm_up", c.c_int64),
        ("peak_flops", c.c_double),
    ]


class CheckOptions(Sized):
    """``sy_check_options``"""

    _fields_ = [
        ("size", c.c_uint32),
        ("n_sets", c.c_uint32),
        ("sets", c.POINTER(c.c_char_p)),
        ("inputs", c.POINTER(c.c_char_p)),
        ("n_inputs", c.c_uint32),
        ("reserved", c.c_uint32),
        ("type", c.c_char_p),
        ("only", c.c_char_p),
        ("user", c.c_void_p),
        ("on_begin", OnEvent),
        ("on_line", OnEvent),
    ]


class GenerateOptions(Sized):
    """``sy_generate_options``"""

    _fields_ = [
        ("size", c.c_uint32),
        ("given", c.c_uint32),
        ("prompt", c.c_char_p),
        ("stop", c.c_char_p),
        ("overflow", c.c_char_p),
        ("tokens", c.c_int64),
        ("temperature", c.c_double),
        ("top_k", c.c_int64),
        ("top_p", c.c_double),
        ("seed", c.c_uint64),
        ("user", c.c_void_p),
        ("on_text", OnText),
    ]
