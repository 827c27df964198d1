#!/usr/bin/env python3
"""Each fault of a plugin fails the one check that it is about, which says what to change; without a fault none fails."""
import os
import re
import subprocess
import unittest

from program import PROGRAM

PLUGINS = os.environ['BROKEN_PLUGINS']

# fault -> the check that must find it, and a word of what it must say
LAYER = {
    'runs': ('runs', 'not today'),
    'shapes': ('shapes', 'FORWARD: output 0'),
    'parameters': ('parameters', "two parameters are called 'gain'"),
    'weights': ('no undeclared weights', '64 bytes are in use after bind'),
    'costs': ('costs', 'set bit 0 of keep_in'),
    'held': ('costs', 'bytes_held = 0, but a call takes'),
    'gradients': ('gradients', 'gradient of input 0'),
    'split': ('split backward', "the gradient of 'gain' differs"),
    'replay': ('replay', 'output 0 differs'),
    'accumulates': ('replay', 'SY_CALL_REPLAY'),
    'repeatable': ('repeatable', 'a prediction differs'),
    'addresses': ('addresses', 'byte_offset'),
    'inputs': ('inputs unchanged', 'a prediction writes input 0'),
    'empty': ('empty', 'without rows'),
    'odd': ('odd shapes', 'with inputs of'),
    'bf16': ('bf16', 'but'),
    'fp16': ('fp16', 'but'),
    'save': ('save and load', 'predicts other numbers'),
    'options': ('options', "the option 'unused' changes nothing"),
    'surroundings': ('surroundings', 'signal mask'),
}
POLICY = {
    'complete': ('complete', 'number stages from 0'),
    'deterministic': ('deterministic', 'two answers'),
    'budget': ('within budget', 'bytes over at layer'),
    'options': ('options', "'unused'"),
    'surroundings': ('surroundings', 'umask'),
}
SCHEDULE = {
    'complete': ('complete and in order', 'micro-batch'),
    'ends': ('ends', 'wait for each other'),
    'evaluation': ('evaluation', 'forward_only'),
    'deterministic': ('deterministic', 'two answers'),
    'options': ('options', "'unused'"),
    'surroundings': ('surroundings', 'umask'),
}
OPTIMIZER = {
    'states': ('states', "'moment'"),
    'repeatable': ('repeatable', 'two of them'),
    'save': ('save and load', 'after loading'),
    'scale': ('loss scale and clipping', 'inv_scale'),
    'rate': ('learning rate', 'lr_scale'),
    'decay': ('decay', 'by each segment'),
    'skip': ('skipped steps', 'control.skip'),
    'padding': ('padding', 'no longer zero'),
    'copies': ('copies in bf16 and fp16', 'round'),
    'bf16': ('gradients in bf16', 'grad_dtype'),
    'norms': ('norms', 'sum of squares'),
    'options': ('options', "'unused'"),
    'surroundings': ('surroundings', 'umask'),
}


def check(kind, fault):
    """Exit code, and the text of each failed and each passed check."""
    path = os.path.join(PLUGINS, f'sy-{kind}-broken.so')
    done = subprocess.run([PROGRAM, 'check', path], env=dict(os.environ, FAULT=fault), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    lines = re.findall(r'^  ([^:]+): (ok|skipped|FAILED)(?:: (.*))?$', done.stdout, re.M)
    return done, {name: text for name, state, text in lines if state == 'FAILED'}, [n for n, s, _ in lines if s == 'ok']


class Broken(unittest.TestCase):
    def expect(self, kind, faults):
        done, failed, passed = check(kind, '')
        self.assertEqual((done.returncode, failed), (0, {}), done.stdout + done.stderr)
        for fault, (name, text) in faults.items():
            with self.subTest(kind=kind, fault=fault):
                done, failed, _ = check(kind, fault)
                self.assertEqual(list(failed), [name], done.stdout + done.stderr)
                self.assertIn(text, failed[name])
                self.assertIn('; ', failed[name])
                self.assertEqual(done.returncode, 1)
        self.assertEqual(set(passed) - {name for name, _ in faults.values()}, set(), 'checks without a broken plugin')

    def test_layers(self):
        self.expect('layer', LAYER)

    def test_policies(self):
        self.expect('policy', POLICY)

    def test_schedules(self):
        self.expect('schedule', SCHEDULE)

    def test_optimizers(self):
        self.expect('optimizer', OPTIMIZER)

    def test_a_plugin_that_ends_the_process(self):
        done, failed, _ = check('layer', 'crash')
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r'error: .* ended the process \(Aborted\) in layer broken.*: shapes')


unittest.main()
