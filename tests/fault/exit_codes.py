#!/usr/bin/env python3
"""A run that fails ends in time, with the right exit code and one line that says what to look at."""
from program import STOP_WITHIN, Folder, fault, main

PLACE = "layer 3 'x' (faulty), stage 1 on cpu:1"


# A busy machine takes its time to start a program; what hangs does so for longer than this.
MOST_SECONDS = STOP_WITHIN + 40


def fails(sets, code, *wanted):
    with Folder() as folder:
        got, text, seconds = folder.run('--out', 'run', sets=sets)
        errors = [line for line in text.splitlines() if line.startswith('error:')]
        assert got == code, f'exit {got} instead of {code}:\n{text}'
        assert len(errors) == 1, f'{len(errors)} error lines:\n{text}'
        for part in wanted:
            assert part in errors[0], f'{part!r} is missing:\n{errors[0]}'
        assert seconds < MOST_SECONDS, f'it took {seconds:.1f} s'


def throws_in_any_call():
    for what in ('throw', 'throw_int', 'escape', 'bad_alloc'):
        for call in ('forward', 'backward'):
            fails(fault(what, call, step=2, micro_batch=1), 1, PLACE + ', micro-batch 1: ')
    fails(fault('throw', 'bind'), 1, PLACE)


def refuses_before_anything_runs():
    for call in ('create', 'infer', 'params', 'cost'):
        fails(fault('throw', call), 2, "layer 3 'x' (faulty)", f'thrown in {call} as told')


def names_numbers_that_are_not_finite():
    fails(fault('nan', 'forward', step=2), 1, PLACE, 'output 0 is not finite')
    fails(fault('inf_gradient', 'backward', step=2), 1, "'x.weight'", PLACE, 'not finite')


def names_wrong_outputs():
    fails(fault('wrong_device', 'forward'), 1, PLACE, 'cpu:1', 'cpu:2')
    fails(fault('squeeze', 'forward') + ['schedule.micro_batches=4'], 1, PLACE, '[6, 8]', '[1, 6, 8]')


def ends_though_a_layer_hangs():
    # "pause" fails over micro-batch 1, while "x" sleeps over micro-batch 0 for two minutes.
    sets = fault('slow', 'forward', micro_batch=0, ms=120000) + ['layer.pause.fault=throw', 'layer.pause.micro_batch=1']
    fails(sets, 1, "layer 2 'pause' (faulty), stage 0 on cpu:0, micro-batch 1")


def refuses_a_budget_before_it_allocates():
    fails(['devices.memory=[1024, 1024]'], 2, 'does not fit', 'cpu:0')


def names_a_layer_that_takes_more_than_it_declared():
    sets = fault('over_memory', 'forward', step=2, bytes=100000000) + ['devices.memory=["1MiB", "1MiB"]']
    fails(sets, 1, PLACE, '100000000 bytes more do not fit', 'the plan predicts a peak of')


main([throws_in_any_call, refuses_before_anything_runs, names_numbers_that_are_not_finite, names_wrong_outputs,
      ends_though_a_layer_hangs, refuses_a_budget_before_it_allocates, names_a_layer_that_takes_more_than_it_declared])
