"""Pipes: a plan on its devices, for programs that bring their own batches."""

from __future__ import annotations

import ctypes as c
import enum
import json
import os
from dataclasses import dataclass


from . import _structs
from ._handle import Handle
from ._library import call, encode, text_of
from ._structs import FLOAT, DType, ParameterInfo
from .results import Peak, StepResult
from .tensors import Tensor, TensorLike, allocate, dtype_name, lend

_FORWARD_LAST = 1


class Kind(enum.IntEnum):
    """What a parameter is."""

    WEIGHT = 0
    BUFFER = 1
    ACCUMULATOR = 2
    CACHE = 3


@dataclass(frozen=True)
class Parameter:
    """A parameter or buffer of the model."""

    index: int
    name: str  #: "h.3.attn.qkv.weight"
    kind: Kind
    shape: tuple[int, ...]
    dtype: str  #: of :meth:`Pipe.read` and :meth:`Pipe.write`
    trainable: bool  #: the optimizer changes it
    device: int  #: where its value lies, numbered as in the plan
    owner: int | None  #: tied: the number of the parameter whose value it shares
    bytes: int


def _parameter(index: int, info: ParameterInfo) -> Parameter:
    return Parameter(
        index=index,
        name=info.name.decode(),
        kind=Kind(info.kind),
        shape=tuple(info.shape[: info.ndim]),
        dtype=dtype_name(info.dtype),
        trainable=bool(info.trainable),
        device=info.device,
        owner=None if info.owner < 0 else info.owner,
        bytes=info.bytes,
    )


class Pipe(Handle):
    """Made by :meth:`switchyard.Plan.build`. Inputs and targets may be tensors of numpy, torch, or anything else that speaks
    DLPack, on the host, with any strides; dimension 0 counts samples."""

    _closer = "sy_pipe_close"

    def _feed(self, name: str, inputs: Tensor | TensorLike, targets: Tensor | TensorLike) -> StepResult:
        result = _structs.StepResult()
        with self._lock, lend(inputs) as x, lend(targets) as y:
            call(name, self._handle, c.byref(x), c.byref(y), c.byref(result))
        return StepResult.of(result)

    def step(self, inputs: Tensor | TensorLike, targets: Tensor | TensorLike) -> StepResult:
        """One optimizer step. One that fails changes nothing, and the pipe stays usable unless a device failed."""
        return self._feed("sy_pipe_step", inputs, targets)

    def evaluate(self, inputs: Tensor | TensorLike, targets: Tensor | TensorLike) -> StepResult:
        """The loss in evaluation mode. Nothing changes."""
        return self._feed("sy_pipe_evaluate", inputs, targets)

    def micro_losses(self) -> list[float]:
        """Sums of losses of the last step or evaluation, one for each micro-batch."""
        count, none = c.c_uint32(), 0
        with self._lock:
            try:
                call("sy_pipe_micro_losses", self._handle, None, none, c.byref(count))
            except RuntimeError:
                if count.value == 0:
                    raise
            losses = (c.c_double * count.value)()
            call("sy_pipe_micro_losses", self._handle, losses, count, c.byref(count))
        return list(losses)

    def forward(self, inputs: Tensor | TensorLike, *, last: bool = False) -> Tensor:
        """Predictions in evaluation mode, fp32 on the host; ``last``: only of the last position."""
        given = c.c_void_p()
        with self._lock, lend(inputs) as x:
            call("sy_pipe_forward", self._handle, c.byref(x), _FORWARD_LAST if last else 0, c.byref(given))
        return Tensor(given)

    def parameter(self, which: str | int) -> Parameter:
        """A parameter by its name or number."""
        index, info = c.c_uint32(), ParameterInfo()
        with self._lock:
            if isinstance(which, str):
                call("sy_pipe_find", self._handle, which.encode(), c.byref(index))
            else:
                index.value = which
            call("sy_pipe_parameter", self._handle, index, c.byref(info))
            return _parameter(index.value, info)

    @property
    def parameters(self) -> list[Parameter]:
        """All of them, in the order of the model."""
        count = c.c_uint32()
        with self._lock:
            call("sy_pipe_parameter_count", self._handle, c.byref(count))
        return [self.parameter(i) for i in range(count.value)]

    def read(self, which: str | int) -> Tensor:
        """The value of a parameter, as a tensor of its own."""
        return self._read("sy_pipe_read", self.parameter(which))

    def gradient(self, which: str | int) -> Tensor:
        """The summed gradient of the last step, fp32, before clipping."""
        return self._read("sy_pipe_read_gradient", self.parameter(which), DType(FLOAT, 32, 1))

    def _read(self, name: str, parameter: Parameter, dtype: DType | None = None) -> Tensor:
        info = ParameterInfo()
        with self._lock:
            call("sy_pipe_parameter", self._handle, parameter.index, c.byref(info))
            tensor = allocate(dtype or info.dtype, parameter.shape)
            # The gradient's size is told in elements, the value's in bytes.
            size = parameter.bytes if dtype is None else _elements(parameter.shape)
            call(name, self._handle, parameter.index, tensor.data_ptr, size)
        return tensor

    def write(self, which: str | int, value: Tensor | TensorLike) -> None:
        """Sets a parameter. The value has its shape and type, and is row-major."""
        parameter = self.parameter(which)
        with self._lock, lend(value) as view:
            shape = tuple(view.shape[i] for i in range(view.ndim))
            if shape != parameter.shape or dtype_name(view.dtype) != parameter.dtype:
                raise ValueError(
                    f"{parameter.name} is {parameter.dtype} of shape {parameter.shape}; "
                    f"given: {dtype_name(view.dtype)} of shape {shape}"
                )
            if not _row_major(view, shape):
                raise ValueError(f"the value for {parameter.name} has gaps: make it contiguous")
            address = (view.data or 0) + view.byte_offset
            call("sy_pipe_write", self._handle, parameter.index, address, parameter.bytes)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Weights, optimizer states and counters, for any plan."""
        with self._lock:
            call("sy_pipe_save", self._handle, encode(folder))

    def load(self, folder: str | os.PathLike[str]) -> None:
        """What :meth:`save`, or a run, left in a folder."""
        with self._lock:
            call("sy_pipe_load", self._handle, encode(folder))

    def peaks(self) -> list[Peak]:
        """The most bytes that each device held since the pipe was built."""
        with self._lock:
            devices = json.loads(text_of("sy_pipe_peaks", self._handle))["devices"]
        return [Peak(d["name"], d["planned"], d["measured"]) for d in devices]

    def cancel(self) -> None:
        """Ends the step that is going on in another thread: it is dropped, and raises there. Not after :meth:`close`."""
        call("sy_pipe_cancel", self._handle)


def _elements(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _row_major(view: _structs.View, shape: tuple[int, ...]) -> bool:
    expected = 1
    for i in reversed(range(len(shape))):
        if shape[i] != 1 and view.strides[i] != expected:
            return False
        expected *= shape[i]
    return True


