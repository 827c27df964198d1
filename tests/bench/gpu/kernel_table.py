#!/usr/bin/env python3
"""Which kernels a training step of ours spends its time in: steps in this process, under torch.profiler.

    tests/bench/gpu/kernel_table.py [SHAPE] [--set KEY=VALUE]... [--rows N]           shapes as tests/bench/gpu/run; default M

Prints milliseconds, share and count of one step's kernels by name, and how much of the step no kernel ran.
"""
import argparse
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

HERE = Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader('gpu_bench', str(HERE / 'run'))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader('gpu_bench', loader))
loader.exec_module(bench)
os.environ.setdefault('SWITCHYARD_LIBRARY', str(bench.BUILD / 'core/libswitchyard.so'))

sys.path.insert(0, str(HERE.parents[2] / 'abi/python'))
import switchyard  # noqa: E402

STEPS = 2


def busy(events):
    """Seconds in which at least one kernel runs, and from the first's start to the last's end."""
    spans = sorted((e.time_range.start, e.time_range.end) for e in events)
    total, end = 0, spans[0][0]
    for start, stop in spans:
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total / 1e6, (end - spans[0][0]) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('shape', nargs='?', default='M', choices=bench.SHAPES)
    parser.add_argument('--rows', type=int, default=30)
    parser.add_argument('--set', action='append', default=[])
    arguments = parser.parse_args()
    overrides = bench.settings(bench.SHAPES[arguments.shape], 1, arguments.set)
    shape = (bench.MICRO_BATCHES * bench.SHAPES[arguments.shape][3], bench.CONTEXT)
    ids = torch.randint(bench.VOCABULARY, shape)
    with switchyard.Runtime(str(HERE / 'gpt.toml'), overrides) as runtime, runtime.plan().build() as pipe:
        pipe.step(ids, ids)
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            for _ in range(STEPS):
                pipe.step(ids, ids)
    events = [e for e in seen.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    rows = {}
    for e in events:
        time, count = rows.get(e.name, (0, 0))
        rows[e.name] = (time + e.time_range.elapsed_us(), count + 1)
    total = sum(time for time, _ in rows.values())
    for name, (time, count) in sorted(rows.items(), key=lambda r: -r[1][0])[:arguments.rows]:
        print(f'{100 * time / total:5.1f} %  {time / 1e3 / STEPS:8.2f} ms  {count / STEPS:7.1f} x  {name[:110]}')
    ran, span = busy(events)
    print(f'kernels {ran / STEPS * 1e3:.1f} ms a step, from first to last {span / STEPS * 1e3:.1f} ms: {100 * (1 - ran / span):.1f} % without one')


if __name__ == '__main__':
    main()
