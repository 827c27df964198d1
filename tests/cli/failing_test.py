#!/usr/bin/env python3
"""Failures while running: exit 1, one line that says where, within the time that is promised."""
import time
import unittest

from program import TOKENS, ProgramTest


class Failing(ProgramTest):
    def faulty(self, options):
        layer = f'[[layer]]\ntype = "faulty"\nname = "f"\n{options}\n[[layer]]\ntype = "plain_head"'
        return self.write('faulty.toml', TOKENS.replace('[[layer]]\ntype = "plain_head"', layer))

    def test_a_layer_that_throws(self):
        self.faulty('fault = "throw"\nstep = 2')
        began = time.monotonic()
        result = self.refused('train', 'faulty.toml', code=1)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(len(result.errors), 1, result.err)
        self.assertIn("layer 5 'f' (faulty), stage 1 on cpu:1, micro-batch 0", result.errors[0])

    def test_whatever_is_thrown(self):
        for fault in ['throw_int', 'bad_alloc', 'escape']:
            self.faulty(f'fault = "{fault}"')
            for call in ['forward', 'backward']:
                result = self.refused('train', 'faulty.toml', '--set', f'layer.f.in={call}', code=1)
                self.assertIn("layer 5 'f' (faulty)", result.errors[0])

    def test_a_layer_that_cannot_be_made_is_a_wrong_configuration(self):
        self.faulty('fault = "throw"\nin = "create"')
        for command in ['plan', 'train']:
            self.assertIn("layer 5 'f' (faulty)", self.refused(command, 'faulty.toml').errors[0])

    def test_an_output_on_another_device(self):
        self.faulty('fault = "wrong_device"')
        error = self.refused('train', 'faulty.toml', code=1).errors[0]
        for part in ['layer 5', 'faulty', 'cpu:1', 'cpu:2']:
            self.assertIn(part, error)

    def test_a_loss_that_is_no_number(self):
        self.faulty('fault = "nan"\nstep = 2')
        error = self.refused('train', 'faulty.toml', code=1).errors[0]
        self.assertIn("layer 5 'f' (faulty)", error)
        self.assertIn('not finite', error)

    def test_a_stage_that_hangs_does_not_keep_the_program(self):
        # The second device sleeps in micro-batch 0 while the first one waits a little and fails in micro-batch 1.
        layers = [('w', 'slow', 'ms = 300\nmicro_batch = 1'), ('t', 'throw', 'micro_batch = 1'), ('f', 'slow', 'ms = 60000')]
        text = ''.join(f'[[layer]]\ntype = "faulty"\nname = "{name}"\nfault = "{fault}"\nstep = 1\n{more}\n'
                       for name, fault, more in layers)
        self.write('hangs.toml', TOKENS.replace('[[layer]]\ntype = "plain_head"', text + '[[layer]]\ntype = "plain_head"'))
        began = time.monotonic()
        result = self.refused('train', 'hangs.toml', '--set', 'placement.contiguous.cuts=["f"]', '--set', 'devices.stop_within=1',
                              code=1)
        self.assertGreater(time.monotonic() - began, 1)
        self.assertLess(time.monotonic() - began, 20)
        self.assertIn("'t' (faulty)", result.errors[0])

    def test_ids_that_the_model_does_not_know(self):
        self.write('small.toml', TOKENS.replace('vocabulary = 256', 'vocabulary = 64'))
        error = self.refused('train', 'small.toml', code=1).errors[0]
        self.assertIn('out of range', error)
        self.assertIn('64', error)

    def test_a_prompt_that_the_model_does_not_know(self):
        self.write('small.toml', TOKENS.replace('vocabulary = 256', 'vocabulary = 64'))
        self.assertIn('generate.prompt', self.refused('generate', 'small.toml').errors[0])


if __name__ == '__main__':
    unittest.main()
