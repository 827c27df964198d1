"""Runtimes: a configuration with its plugins; and plans, which allocate nothing."""

from __future__ import annotations

import ctypes as c
import json
import os
from typing import TYPE_CHECKING, Any, Callable, Sequence

from ._callbacks import Callbacks
from ._handle import Handle
from ._library import call, encode, take_text, text_of
from ._structs import BenchOptions, CheckOptions, GenerateOptions, OnEvent, OnPlan, OnReport, OnText, RuntimeOptions, TrainOptions
from .errors import Code, Error
from .pipe import Pipe
from .results import Generated, Report

if TYPE_CHECKING:
    from .plugin import Plugin

_TRAIN_NO_FILES = 1
_TOKENS, _TEMPERATURE, _TOP_K, _TOP_P, _SEED = 1, 2, 4, 8, 16


class Plan(Handle):
    """Which layer sits where, and what each device does in which order. ``print(plan)`` shows it."""

    _closer = "sy_plan_free"

    def build(self) -> Pipe:
        """Places the weights and starts one thread for each device."""
        given = c.c_void_p()
        with self._lock:
            call("sy_pipe_build", self._handle, c.byref(given))
        return Pipe(given, self._lock)

    def measure(self) -> None:
        """Times layers, updates and hand-overs on the plan's devices, and plans anew from them."""
        with self._lock:
            call("sy_plan_measure", self._handle)

    def __str__(self) -> str:
        return self._text("sy_plan_text")

    def json(self) -> dict[str, Any]:
        """Everything about the plan: ``core/plan/README.md``."""
        result: dict[str, Any] = json.loads(self._text("sy_plan_json"))
        return result

    def html(self) -> str:
        """A page for a browser, which needs no other file."""
        return self._text("sy_plan_html")

    def trace(self) -> str:
        """Trace events of one pass as the plan expects it, for ui.perfetto.dev."""
        return self._text("sy_plan_trace")

    def schedule(self) -> str:
        """What each device does in which order, for ``schedule.type = "file"``."""
        return self._text("sy_plan_schedule")

    def _text(self, name: str) -> str:
        with self._lock:
            return text_of(name, self._handle)

    def stage_of_layer(self) -> list[int]:
        """The stage of each layer."""
        return self._numbers("sy_plan_stage_of_layer")

    def device_of_stage(self) -> list[int]:
        """The device of each stage."""
        return self._numbers("sy_plan_device_of_stage")

    def _numbers(self, name: str) -> list[int]:
        capacity, count = 64, c.c_uint32()
        with self._lock:
            while True:
                numbers = (c.c_int32 * capacity)()
                try:
                    call(name, self._handle, numbers, capacity, c.byref(count))
                    return list(numbers[: count.value])
                except Error as e:
                    if e.code != Code.RANGE:
                        raise
                    capacity = count.value

    def layers(self) -> list[str]:
        """The names of the layers."""
        return self._names("sy_plan_layer_name")

    def devices(self) -> list[str]:
        """The names of the devices."""
        return self._names("sy_plan_device_name")

    def _names(self, name: str) -> list[str]:
        names: list[str] = []
        with self._lock:
            while True:
                lent = c.c_char_p()
                try:
                    call(name, self._handle, len(names), c.byref(lent))
                except Error as e:
                    if e.code != Code.RANGE:
                        raise
                    return names
                names.append((lent.value or b"").decode())


class Runtime(Handle):
    """A configuration, and the plugins that it may use.

    ``config`` is the path of a TOML file or of a run's folder; or give the TOML as ``text``, with the ``folder`` that its
    relative paths start from. ``sets`` are ``"KEY=VALUE"``, as the program's ``--set`` takes them. Without any of it, for what
    concerns plugins alone.
    """

    _closer = "sy_runtime_close"

    def __init__(
        self,
        config: str | os.PathLike[str] | None = None,
        sets: Sequence[str] = (),
        *,
        text: str | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        texts = (c.c_char_p * len(sets))(*(s.encode() for s in sets))
        options = RuntimeOptions(
            n_sets=len(sets), config=encode(config), text=encode(text), folder=encode(folder), sets=texts
        )
        given = c.c_void_p()
        call("sy_runtime_open", c.byref(options), c.byref(given))
        super().__init__(given)

    def plan(self) -> Plan:
        """Decides where everything goes; :class:`Error` with ``Code.INFEASIBLE`` where it does not fit."""
        given = c.c_void_p()
        with self._lock:
            call("sy_plan_make", self._handle, c.byref(given))
        return Plan(given, self._lock)

    def sweep(self) -> dict[str, Any]:
        """Every policy, schedule, micro-batch count and recompute, planned and simulated, the best first."""
        given = c.c_void_p()
        with self._lock:
            call("sy_plan_sweep", self._handle, None, c.byref(given), None)
        result: dict[str, Any] = json.loads(take_text(given))
        return result

    # ---- plugins -----------------------------------------------------------------------------------------------------
    def load(self, path: str | os.PathLike[str]) -> None:
        """Loads a plugin file for this runtime."""
        with self._lock:
            call("sy_plugin_load", self._handle, encode(path))

    def register(self, plugin: Plugin | int) -> None:
        """Adds a plugin whose table lives in this process: of :mod:`switchyard.plugin`, or the address of a ``sy_plugin``."""
        with self._lock:
            call("sy_plugin_register", self._handle, plugin if isinstance(plugin, int) else plugin.address)

    def plugins(self) -> dict[str, Any]:
        """What was looked at, and what became of it."""
        result: dict[str, Any] = self._json("sy_plugins")
        return result

    def devices(self) -> dict[str, Any]:
        """Backends and their devices."""
        result: dict[str, Any] = self._json("sy_devices")
        return result

    def describe(self, name: str | None = None) -> Any:
        """All names of layers, policies, schedules, optimizers and backends; or the options of one."""
        return self._json("sy_describe", encode(name))

    def config(self) -> str:
        """All values in effect, as TOML that gives the same configuration."""
        with self._lock:
            return text_of("sy_config_print", self._handle)

    def _json(self, name: str, *arguments: Any) -> Any:
        with self._lock:
            return json.loads(text_of(name, self._handle, *arguments))

    # ---- whole jobs --------------------------------------------------------------------------------------------------
    def train(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        resume: str | os.PathLike[str] | None = None,
        at_most: int = 0,
        files: bool = True,
        trace: str | os.PathLike[str] | None = None,
        on_plan: Callable[[str], object] | None = None,
        on_step: Callable[[Report], object] | None = None,
        on_report: Callable[[Report], object] | None = None,
        on_event: Callable[[str], object] | None = None,
    ) -> dict[str, Any]:
        """Trains as the configuration says, into the folder ``out``.

        ``on_step`` and ``on_report`` end the run, with a checkpoint, by returning something true. An exception in any callback
        ends it too, and is raised here.
        """
        callbacks = Callbacks()

        def report(pointer: Any) -> tuple[Report]:
            return (Report.of(pointer.contents),)

        options = TrainOptions(
            flags=0 if files else _TRAIN_NO_FILES,
            out=encode(out),
            resume=encode(resume),
            at_most=at_most,
            trace=encode(trace),
            on_plan=callbacks.wrap(OnPlan, on_plan, lambda text, plan: (text.decode(),)),
            on_step=callbacks.wrap(OnReport, on_step or (lambda report: False), report),
            on_report=callbacks.wrap(OnReport, on_report, report),
            on_event=callbacks.wrap(OnEvent, on_event, lambda line: (line.decode(),)),
        )
        given = c.c_void_p()
        with self._lock:
            try:
                call("sy_train", self._handle, c.byref(options), c.byref(given))
            finally:
                callbacks.raise_first()
        result: dict[str, Any] = json.loads(take_text(given))
        return result

    def evaluate(self) -> dict[str, Any]:
        """Loss, accuracy and perplexity of the held-out part."""
        result: dict[str, Any] = self._json("sy_evaluate")
        return result

    def generate(
        self,
        prompt: str | None = None,
        *,
        tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        stop: str | None = None,
        overflow: str | None = None,
        on_text: Callable[[str], object] | None = None,
    ) -> Generated:
        """Lets the model write; what is not given comes from ``[generate]``. ``on_text`` gets each piece as it comes and ends
        the text by returning something true."""
        callbacks = Callbacks()
        numbers = {
            "tokens": (_TOKENS, tokens),
            "temperature": (_TEMPERATURE, temperature),
            "top_k": (_TOP_K, top_k),
            "top_p": (_TOP_P, top_p),
            "seed": (_SEED, seed),
        }
        options = GenerateOptions(
            given=sum(bit for bit, value in numbers.values() if value is not None),
            prompt=encode(prompt),
            stop=encode(stop),
            overflow=encode(overflow),
            on_text=callbacks.wrap(OnText, on_text, lambda piece: (piece.decode(),)),
            **{name: value for name, (_, value) in numbers.items() if value is not None},
        )
        given = c.c_void_p()
        with self._lock:
            try:
                call("sy_generate", self._handle, c.byref(options), c.byref(given))
            finally:
                callbacks.raise_first()
        return Generated.of(json.loads(take_text(given)))

    def compare(self, steps: int = 3) -> dict[str, Any]:
        """Some steps on the plan and on one device, compared bit for bit."""
        given = c.c_void_p()
        with self._lock:
            call("sy_compare", self._handle, steps, None, c.byref(given))
        result: dict[str, Any] = json.loads(take_text(given))
        return result

    def bench(self, steps: int = 10, *, warm_up: int = 0, peak_flops: float = 0.0) -> dict[str, Any]:
        """Steps on random batches, for speed: seconds, samples or tokens per second, peak bytes and idle share of devices.
        ``peak_flops``: of one device in the run's type, for the MFU."""
        options = BenchOptions(steps=steps, warm_up=warm_up, peak_flops=peak_flops)
        given = c.c_void_p()
        with self._lock:
            call("sy_bench", self._handle, c.byref(options), None, c.byref(given))
        result: dict[str, Any] = json.loads(take_text(given))
        return result

    def check(
        self, plugin: str | os.PathLike[str], *, sets: Sequence[str] = (), inputs: Sequence[str] = (), only: str | None = None
    ) -> dict[str, Any]:
        """Tries out what a plugin file offers, as ``switchyard check`` does: {"failed": n, "subjects": [...]}. ``sets`` are
        options, "out=16"; ``inputs`` of layers, "4x8"."""
        options = CheckOptions(
            n_sets=len(sets),
            sets=(c.c_char_p * len(sets))(*map(encode, sets)),
            n_inputs=len(inputs),
            inputs=(c.c_char_p * len(inputs))(*map(encode, inputs)),
            only=encode(only),
        )
        given = c.c_void_p()
        with self._lock:
            call("sy_plugin_check", self._handle, encode(os.fspath(plugin)), c.byref(options), c.byref(given))
        result: dict[str, Any] = json.loads(take_text(given))
        return result

    def inspect(self, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Every tensor of the configuration or run, or of another one, or of a safetensors file."""
        given = c.c_void_p()
        with self._lock:
            call("sy_inspect", self._handle, encode(path), None, c.byref(given))
        result: dict[str, Any] = json.loads(take_text(given))
        return result
