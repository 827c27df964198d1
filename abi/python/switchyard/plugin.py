"""Plugins that live in this process: placement policies written in Python.

    class Even(switchyard.plugin.Policy):
        id = "even"
        help = "as many layers for each device"

        def place(self, problem):
            n, k = len(problem.layers), len(problem.devices)
            return Placement(stage_of_layer=[i * k // n for i in range(n)], device_of_stage=list(range(k)), why="even")

    runtime.register(switchyard.plugin.Plugin("org.example.even", [Even]))

and ``placement.policy = "even"`` in the configuration. A policy is a pure function: same problem, same answer.
"""

from __future__ import annotations

import abc
import ctypes as c
from dataclasses import dataclass
from typing import Any, ClassVar, Sequence, Union

from . import _structs
from ._library import ABI, error_of
from .errors import Code, Error

_OK = 0
_UNLIMITED = 2**64 - 1
_MAGIC = 0x50435953
_KIND_POLICY = b"sy.policy/0"


# ---- the C structs of base.h, policy.h and plugin.h ------------------------------------------------------------------
_rc, _u32, _i32, _u64, _f64, _ptr = c.c_int32, c.c_uint32, c.c_int32, c.c_uint64, c.c_double, c.c_void_p
_text = c.c_char_p
_errp = c.POINTER(_ptr)


class _OptionC(c.Structure):
    _fields_ = [
        ("size", _u32), ("type", _u32), ("key", _text), ("fallback", _text), ("min", _f64), ("max", _f64),
        ("choices", c.POINTER(_text)), ("unit", _text), ("help", _text),
    ]  # fmt: skip


class _Host(c.Structure):
    self_: int
    fail: Any
    text_add: Any
    cfg_bool: Any
    cfg_i64: Any
    cfg_f64: Any
    cfg_str: Any
    _fields_ = [
        ("size", _u32), ("abi_minor", _u32), ("self_", _ptr), ("core_version", _text),
        ("fail", c.CFUNCTYPE(_rc, _ptr, _errp, _rc, _text)),
        ("note", _ptr), ("log", _ptr), ("alloc", _ptr), ("free", _ptr), ("charge", _ptr),
        ("cfg_bool", c.CFUNCTYPE(_rc, _ptr, _text, c.POINTER(_i32), _errp)),
        ("cfg_i64", c.CFUNCTYPE(_rc, _ptr, _text, c.POINTER(c.c_int64), _errp)),
        ("cfg_f64", c.CFUNCTYPE(_rc, _ptr, _text, c.POINTER(_f64), _errp)),
        ("cfg_str", c.CFUNCTYPE(_rc, _ptr, _text, c.POINTER(_text), _errp)),
        ("cfg_count", _ptr), ("cfg_i64_at", _ptr), ("cfg_f64_at", _ptr), ("cfg_str_at", _ptr), ("cfg_given", _ptr),
        ("tensor_wrap", _ptr), ("tensor_view", _ptr), ("tensor_keep", _ptr), ("tensor_drop", _ptr),
        ("text_add", c.CFUNCTYPE(None, _ptr, _text)), ("get", _ptr),
    ]  # fmt: skip


class _CostC(c.Structure):
    _fields_ = [
        ("size", _u32), ("flags", _u32), ("flops_forward", _f64), ("flops_input", _f64), ("flops_weight", _f64),
        ("bytes_saved", _u64), ("bytes_held", _u64), ("bytes_workspace", _u64), ("bytes_workspace_backward", _u64),
        ("keep_in", _u64), ("keep_out", _u64),
    ]  # fmt: skip


class _PlaceLayerC(c.Structure):
    _fields_ = [
        ("size", _u32), ("pin", _i32), ("tie", _i32), ("n_inputs", _u32), ("inputs", c.POINTER(_i32)),
        ("input_bytes", c.POINTER(_u64)), ("name", _text), ("type", _text), ("cost", c.POINTER(_CostC)),
        ("bytes_weights", _u64), ("bytes_grads", _u64), ("bytes_states", _u64), ("bytes_outputs", _u64),
        ("recompute", _u32),
    ]  # fmt: skip


class _PlaceDeviceC(c.Structure):
    _fields_ = [
        ("size", _u32), ("node", _i32), ("device", _structs.Device), ("budget", _u64), ("flops", _f64),
        ("name", _text),
    ]  # fmt: skip


class _CandidateC(c.Structure):
    _fields_ = [
        ("size", _u32), ("n_stages", _u32), ("stage_of_layer", c.POINTER(_i32)), ("device_of_stage", c.POINTER(_i32)),
        ("recompute", c.POINTER(c.c_uint8)),
    ]  # fmt: skip


class _EvaluationC(c.Structure):
    misfit_layer: int
    misfit_bytes: int
    step_s: float
    _fields_ = [
        ("size", _u32), ("misfit_layer", _i32), ("misfit_bytes", _u64), ("step_s", _f64),
        ("peak_bytes", c.POINTER(_u64)), ("recompute", c.POINTER(c.c_uint8)),
    ]  # fmt: skip


class _PlaceC(c.Structure):
    _fields_ = [
        ("size", _u32), ("n_layers", _u32), ("n_devices", _u32), ("max_stages", _u32), ("micro_batches", _u32),
        ("reserved", _u32), ("layers", c.POINTER(c.POINTER(_PlaceLayerC))),
        ("devices", c.POINTER(c.POINTER(_PlaceDeviceC))), ("self_", _ptr),
        ("evaluate", c.CFUNCTYPE(_rc, _ptr, c.POINTER(_CandidateC), c.POINTER(_EvaluationC), _errp)),
        ("match", c.CFUNCTYPE(_rc, _ptr, _text, c.POINTER(c.c_uint8), _errp)),
        ("link", c.CFUNCTYPE(_rc, _ptr, _i32, _i32, c.POINTER(_f64), c.POINTER(_f64), _errp)),
        ("seconds", c.CFUNCTYPE(_rc, _ptr, _u32, _i32, c.POINTER(_f64), c.POINTER(_f64), c.POINTER(_f64), _errp)),
    ]  # fmt: skip


class _PlacedC(c.Structure):
    _fields_ = [
        ("size", _u32), ("n_stages", _u32), ("stage_of_layer", c.POINTER(_i32)), ("device_of_stage", c.POINTER(_i32)),
        ("recompute", c.POINTER(c.c_uint8)), ("why", _ptr), ("closest", _u32), ("reserved", _u32),
    ]  # fmt: skip


_Create = c.CFUNCTYPE(_rc, c.POINTER(_Host), _ptr, c.POINTER(_ptr), _errp)
_Place = c.CFUNCTYPE(_rc, _ptr, c.POINTER(_PlaceC), c.POINTER(_PlacedC), _errp)
_Destroy = c.CFUNCTYPE(None, _ptr)
_Attach = c.CFUNCTYPE(_rc, c.POINTER(_Host), _errp)


class _PolicyC(c.Structure):
    _fields_ = [
        ("size", _u32), ("caps", _u32), ("id", _text), ("help", _text), ("options", c.POINTER(c.POINTER(_OptionC))),
        ("n_options", _u32), ("reserved", _u32), ("create", _Create), ("place", _Place), ("destroy", _Destroy),
    ]  # fmt: skip


class _ExportC(c.Structure):
    _fields_ = [("kind", _text), ("table", _ptr)]


class _PluginC(c.Structure):
    _fields_ = [
        ("magic", _u32), ("size", _u32), ("abi_major", _u32), ("abi_minor", _u32), ("id", _text), ("version", _text),
        ("exports", c.POINTER(_ExportC)), ("n_exports", _u32), ("reserved", _u32), ("attach", _Attach),
    ]  # fmt: skip


# ---- what a policy sees -----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Layer:
    """A layer to place. Costs are of one (largest) micro-batch in training."""

    name: str
    type: str
    pin: int | None  #: device that the user fixed
    tie: int | None  #: the earlier layer whose weight this one shares
    inputs: tuple[int | None, ...]  #: layers that feed it; None: the batch
    input_bytes: tuple[int, ...]
    flops_forward: float
    flops_backward: float
    bytes_saved: int  #: from forward to backward
    bytes_weights: int
    bytes_grads: int
    bytes_states: int
    bytes_outputs: int


@dataclass(frozen=True)
class Device:
    """A device to place on."""

    name: str
    node: int  #: its host
    budget: int | None  #: bytes
    flops: float | None  #: per second


@dataclass(frozen=True)
class Evaluation:
    """The core's judgement of a placement under the configured schedule."""

    step_s: float  #: simulated time of one optimizer step
    peak_bytes: tuple[int, ...]  #: of each device
    misfit_layer: int | None  #: first layer that does not fit
    misfit_bytes: int  #: by how many bytes


@dataclass
class Placement:
    """The answer. Stages count from 0 and never decrease along the layers; several may share a device."""

    stage_of_layer: Sequence[int]
    device_of_stage: Sequence[int]
    why: str = ""  #: which bound decided; one or two lines
    recompute: Sequence[bool] | None = None  #: None: as configured


class Problem:
    """Layers and devices, valid during :meth:`Policy.place`."""

    layers: tuple[Layer, ...]
    devices: tuple[Device, ...]
    max_stages: int
    micro_batches: int

    def __init__(self, place: Any) -> None:
        self._place = place
        self.layers = tuple(_layer(place.layers[i].contents) for i in range(place.n_layers))
        self.devices = tuple(_device(place.devices[i].contents) for i in range(place.n_devices))
        self.max_stages = place.max_stages
        self.micro_batches = place.micro_batches

    def evaluate(self, placement: Placement) -> Evaluation:
        """What the core thinks of a placement. One that does not fit has ``misfit_layer`` set."""
        stages, devices = _ints(placement.stage_of_layer), _ints(placement.device_of_stage)
        recompute = placement.recompute and (c.c_uint8 * len(self.layers))(*map(bool, placement.recompute))
        candidate = _CandidateC(c.sizeof(_CandidateC), len(devices), stages, devices, recompute)
        peaks = (_u64 * len(self.devices))()
        out = _EvaluationC(c.sizeof(_EvaluationC), -1, 0, 0.0, peaks, None)
        _check(self._place.evaluate, self._place.self_, c.byref(candidate), c.byref(out))
        misfit = None if out.misfit_layer < 0 else out.misfit_layer
        return Evaluation(out.step_s, tuple(peaks), misfit, out.misfit_bytes)

    def match(self, pattern: str) -> list[int]:
        """The layers that a pattern, a name, or a group's name means."""
        hit = (c.c_uint8 * len(self.layers))()
        _check(self._place.match, self._place.self_, pattern.encode(), hit)
        return [i for i, h in enumerate(hit) if h]

    def link(self, source: int, target: int) -> tuple[float, float]:
        """Bytes per second and latency in seconds from one device to another."""
        speed, latency = _f64(), _f64()
        _check(self._place.link, self._place.self_, source, target, c.byref(speed), c.byref(latency))
        return speed.value, latency.value

    def seconds(self, layer: int, device: int) -> tuple[float, float, float]:
        """What one micro-batch of a layer takes on a device: forward, backward for inputs, backward for weights."""
        f, i, w = _f64(), _f64(), _f64()
        _check(self._place.seconds, self._place.self_, layer, device, c.byref(f), c.byref(i), c.byref(w))
        return f.value, i.value, w.value


def _layer(given: Any) -> Layer:
    cost, inputs = given.cost.contents, range(given.n_inputs)
    return Layer(
        name=given.name.decode(),
        type=given.type.decode(),
        pin=_index(given.pin),
        tie=_index(given.tie),
        inputs=tuple(_index(given.inputs[i]) for i in inputs),
        input_bytes=tuple(given.input_bytes[i] for i in inputs),
        flops_forward=cost.flops_forward,
        flops_backward=cost.flops_input + cost.flops_weight,
        bytes_saved=cost.bytes_saved,
        bytes_weights=given.bytes_weights,
        bytes_grads=given.bytes_grads,
        bytes_states=given.bytes_states,
        bytes_outputs=given.bytes_outputs,
    )


def _device(given: Any) -> Device:
    budget = None if given.budget == _UNLIMITED else given.budget
    return Device(given.name.decode(), given.node, budget, given.flops or None)


def _index(number: int) -> int | None:
    return None if number < 0 else number


def _ints(numbers: Sequence[int]) -> Any:
    return (_i32 * len(numbers))(*numbers)


def _check(function: Any, *arguments: Any) -> None:
    error = c.c_void_p()
    code = function(*arguments, c.byref(error))
    if code != _OK:
        raise error_of(code, error)


# ---- policies and plugins ---------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Option:
    """An option of a policy, checked by the core. The default's type is the option's; a type in place of it: required."""

    key: str
    default: Union[bool, int, float, str, type]
    help: str
    minimum: float = 1.0  #: of numbers; minimum > maximum: any
    maximum: float = 0.0
    choices: Sequence[str] = ()
    unit: str | None = None


_TYPES: dict[type, tuple[int, str, Any]] = {  # SY_T_*, getter, C type
    bool: (1, "cfg_bool", _i32),
    int: (2, "cfg_i64", c.c_int64),
    float: (3, "cfg_f64", _f64),
    str: (4, "cfg_str", _text),
}


def _type_of(option: Option) -> type:
    return option.default if isinstance(option.default, type) else type(option.default)


def _toml(value: Union[bool, int, float, str]) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(value, str) else repr(value)


class Policy(abc.ABC):
    """A placement policy. Created for each plan, with its options as keywords; ``id`` is what users write."""

    id: ClassVar[str]
    help: ClassVar[str] = ""
    options: ClassVar[Sequence[Option]] = ()

    def __init__(self, **options: Any) -> None:
        self.__dict__.update(options)

    @abc.abstractmethod
    def place(self, problem: Problem) -> Placement:
        """Where everything goes. ``raise Error(Code.INFEASIBLE, ...)``: nothing fits."""


def _fail(host: Any, err: Any, e: BaseException) -> int:
    code, text = (int(e.code), str(e)) if isinstance(e, Error) else (int(Code.UNKNOWN), f"{type(e).__name__}: {e}")
    failed: int = host.contents.fail(host.contents.self_, err, code, text.encode())
    return failed


class _Table:
    """The C table of a policy class."""

    def __init__(self, policy: type[Policy]) -> None:
        self.policy = policy
        self.living: dict[int, Policy] = {}
        self.created = 0
        self.host: Any = None
        self.options = [self._option(o) for o in policy.options]
        pointers = (c.POINTER(_OptionC) * max(1, len(self.options)))(*[c.pointer(o) for o in self.options])
        self.c = _PolicyC(
            c.sizeof(_PolicyC), 0, policy.id.encode(), policy.help.encode(), pointers, len(self.options), 0,
            _Create(self._create), _Place(self._place), _Destroy(self._destroy),
        )  # fmt: skip

    @staticmethod
    def _option(o: Option) -> _OptionC:
        fallback = None if isinstance(o.default, type) else _toml(o.default).encode()
        choices = (_text * (len(o.choices) + 1))(*(s.encode() for s in o.choices), None) if o.choices else None
        unit = o.unit.encode() if o.unit else None
        return _OptionC(
            c.sizeof(_OptionC), _TYPES[_type_of(o)][0], o.key.encode(), fallback, o.minimum, o.maximum, choices, unit,
            o.help.encode(),
        )  # fmt: skip

    def _create(self, host: Any, config: int, give: Any, err: Any) -> int:
        try:
            self.host = host
            self.created += 1
            self.living[self.created] = self.policy(**{o.key: self._value(o, config) for o in self.policy.options})
            give[0] = self.created
            return _OK
        except BaseException as e:
            return _fail(host, err, e)

    def _value(self, option: Option, config: int) -> Any:
        kind = _type_of(option)
        _, getter, result = _TYPES[kind]
        out = result()
        _check(getattr(self.host.contents, getter), config, option.key.encode(), c.byref(out))
        return out.value.decode() if kind is str else kind(out.value)

    def _place(self, policy: int, problem: Any, out: Any, err: Any) -> int:
        try:
            placement = self.living[policy].place(Problem(problem.contents))
            self._answer(placement, problem.contents.n_layers, out.contents)
            return _OK
        except BaseException as e:
            return _fail(self.host, err, e)

    def _answer(self, placement: Placement, n_layers: int, out: Any) -> None:
        stages, devices = list(placement.stage_of_layer), list(placement.device_of_stage)
        if len(stages) != n_layers or len(devices) > n_layers:
            raise ValueError(f"{self.policy.id}: {len(stages)} layers and {len(devices)} stages for {n_layers} layers")
        for i, stage in enumerate(stages):
            out.stage_of_layer[i] = stage
        for i, device in enumerate(devices):
            out.device_of_stage[i] = device
        for i, again in enumerate(placement.recompute or ()):
            out.recompute[i] = bool(again)
        out.n_stages = len(devices)
        self.host.contents.text_add(out.why, placement.why.encode())

    def _destroy(self, policy: int | None) -> None:
        if policy is not None:
            self.living.pop(policy, None)


_registered: list[Plugin] = []  # the library keeps a plugin for the life of the process


class Plugin:
    """A plugin of policies, for :meth:`switchyard.Runtime.register`. ``id`` is unique in the process."""

    def __init__(self, id: str, policies: Sequence[type[Policy]], version: str = "1.0") -> None:
        self._tables = [_Table(policy) for policy in policies]
        self._exports = (_ExportC * len(policies))(*[_ExportC(_KIND_POLICY, c.addressof(t.c)) for t in self._tables])
        self._attach = _Attach(lambda host, err: _OK)
        self._c = _PluginC(
            _MAGIC, c.sizeof(_PluginC), *ABI, id.encode(), version.encode(), self._exports, len(policies), 0, self._attach
        )
        _registered.append(self)

    @property
    def address(self) -> int:
        """Of its ``sy_plugin``."""
        return c.addressof(self._c)
