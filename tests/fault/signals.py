#!/usr/bin/env python3
"""A run that is asked to stop, or killed, leaves a checkpoint from which training goes on."""
import random
import signal
import subprocess
import time

from program import Folder, fault, last_step, main, tensors, wait_for

SLOW = fault('slow', 'forward', ms=10) + ['train.steps=100000']


def stopped_by(number, code):
    with Folder() as folder:
        run = folder.path / 'run'
        program = folder.start('--out', 'run', sets=SLOW)
        wait_for(lambda: (run / 'metrics.jsonl').exists() and (run / 'metrics.jsonl').read_text().count('\n') >= 2, 'step 2')
        program.send_signal(number)
        _, text = program.communicate(timeout=20)
        assert program.returncode == code, f'exit {program.returncode} instead of {code}:\n{text}'
        step = last_step(run)
        assert step >= 2
        tensors(run / 'checkpoint' / 'model.safetensors')
        got, text, _ = folder.run('--resume', 'run', sets=[f'train.steps={step + 2}'])
        assert got == 0, text
        assert last_step(run) == step + 2


def sigterm_leaves_a_checkpoint():
    stopped_by(signal.SIGTERM, 143)


def sigint_leaves_a_checkpoint():
    stopped_by(signal.SIGINT, 130)


def a_second_signal_stops_at_once():
    with Folder() as folder:
        program = folder.start('--out', 'run', sets=fault('slow', 'forward', step=2, ms=60000) + ['train.steps=100'])
        metrics = folder.path / 'run' / 'metrics.jsonl'
        wait_for(lambda: metrics.exists() and metrics.read_text(), 'step 1')
        program.send_signal(signal.SIGTERM)
        time.sleep(0.3)  # else the two may arrive as one
        program.send_signal(signal.SIGTERM)
        program.communicate(timeout=5)
        assert program.returncode == 143, program.returncode


def killed_at_any_moment():
    """Saves after each step, so that most kills fall into one."""
    seeded = random.Random(7)
    with Folder() as folder:
        run = folder.path / 'run'
        sets = ['checkpoint.every=1', 'train.steps=1000000']
        arguments = ('--out', 'run')
        reached = 0
        for _ in range(10):
            program = folder.start(*arguments, sets=sets)
            wait_for(lambda: (run / 'checkpoint').exists() and last_step(run) > reached, f'a step after {reached}')
            delay = seeded.uniform(0, 0.3)
            try:
                program.wait(timeout=delay)
            except subprocess.TimeoutExpired:
                program.kill()
            program.communicate(timeout=20)
            assert program.returncode == -signal.SIGKILL, program.returncode
            step = last_step(run)
            assert step > reached, f'{step} after {reached}: work was lost'
            for name in ('model', 'optimizer'):
                tensors(run / 'checkpoint' / f'{name}.safetensors')
            reached, arguments = step, ('--resume', 'run')
        got, text, _ = folder.run('--resume', 'run', sets=['checkpoint.every=1', f'train.steps={reached + 2}'])
        assert got == 0, text
        assert last_step(run) == reached + 2
        # The same weights as of a run that nobody killed.
        got, text, _ = folder.run('--out', 'whole', sets=[f'train.steps={reached + 2}'])
        assert got == 0, text
        model = 'checkpoint/model.safetensors'
        assert tensors(run / model) == tensors(folder.path / 'whole' / model), 'the weights differ'


main([sigterm_leaves_a_checkpoint, sigint_leaves_a_checkpoint, a_second_signal_stops_at_once, killed_at_any_moment])
