#!/usr/bin/env python3
"""What the border costs a program in Python, as shares of one step of the book example (target: below 1 % together).

    call        a function of the library that does next to nothing, with its error parameter
    wrap        a tensor of numpy made a counted tensor of the library, and dropped
    lend        the same for the length of one call, as a step does with inputs and targets
    hand-over   all that a step does before it begins: both tensors lent, the call, copied once, every id checked; measured by a
                batch that is refused for its last id, so that making the error counts too
    border      hand-over, and reading the result

border_bench.py [ROUNDS]. Each number is the median of the rounds; steps and the rest take turns.
"""
import os
import pathlib
import statistics
import sys
import time

SOURCE = pathlib.Path(os.environ.get("SWITCHYARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BUILD = pathlib.Path(os.environ.get("SWITCHYARD_BUILD", SOURCE / "build"))
os.environ.setdefault("SWITCHYARD_LIBRARY", str(BUILD / "core" / "libswitchyard.so.1"))
sys.path[:0] = [str(SOURCE / "abi" / "python"), str(SOURCE / "tests" / "abi" / "python")]

from interpreter import need

need("numpy")
import numpy as np

import switchyard
from switchyard import _structs
from switchyard.tensors import lend

BATCH, CONTEXT, REPEATS = 16, 128, 200


def seconds(body, repeats=1):
    start = time.perf_counter()
    for _ in range(repeats):
        body()
    return (time.perf_counter() - start) / repeats


def lend_both(inputs, targets):
    with lend(inputs), lend(targets):
        pass


def refuse(pipe, inputs, targets):
    try:
        pipe.step(inputs, targets)
    except switchyard.Error:
        return
    raise SystemExit("error: the batch was not refused")


def measured(pipe, rounds):
    """Median seconds by name."""
    drawn = np.random.default_rng(1)
    inputs, targets = (drawn.integers(0, 256, (BATCH, CONTEXT)) for _ in range(2))
    refused = targets.copy()
    refused[-1, -1] = 256
    result = _structs.StepResult()
    bodies = {
        "call": lambda: pipe.cancel(),
        "wrap": lambda: switchyard.Tensor.from_dlpack(inputs),
        "lend": lambda: lend_both(inputs, targets),
        "hand-over": lambda: refuse(pipe, inputs, refused),
        "result": lambda: switchyard.StepResult.of(result),
    }
    times = {"step": []}
    for name in bodies:
        times[name] = []
    for r in range(rounds + 1):  # the first one only warms up
        for name in times:
            taken = seconds(lambda: pipe.step(inputs, targets)) if name == "step" else seconds(bodies[name], REPEATS)
            if r > 0:
                times[name].append(taken)
    return {name: statistics.median(all_) for name, all_ in times.items()}


def main(rounds=7):
    config = SOURCE / "examples" / "train_a_book" / "train_a_book.toml"
    with switchyard.Runtime(config) as runtime, runtime.plan().build() as pipe:
        times = measured(pipe, rounds)
    times["border"] = times["hand-over"] + times["result"]
    step = times.pop("step")
    del times["result"]
    print(f"step       {1e3 * step:8.1f} ms")
    for name, taken in times.items():
        print(f"{name:<10} {1e6 * taken:8.1f} us  {100 * taken / step:.4f} % of a step")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
