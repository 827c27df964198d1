#!/usr/bin/env python3
"""Ctrl-C and SIGTERM: a checkpoint after the current step, or an end at once."""
import shutil
import signal
import time
import unittest

from program import TOKENS, ProgramTest


class Signals(ProgramTest):
    def setUp(self):
        super().setUp()
        self.slow(150)

    def slow(self, ms):
        """A model that takes its time for every micro-batch."""
        layer = f'[[layer]]\ntype = "faulty"\nname = "f"\nfault = "slow"\nms = {ms}\n[[layer]]\ntype = "plain_head"'
        text = TOKENS.replace('[[layer]]\ntype = "plain_head"', layer).replace('steps = 4', 'steps = 1000')
        self.write('slow.toml', text.replace('report_every = 2', 'report_every = 1').replace('tokens = 8', 'tokens = 1'))

    def train_until_step(self):
        process = self.start('train', 'slow.toml', '--out', 'run')
        seen = ''
        for line in process.stderr:
            seen += line
            if line.startswith('step'):
                return process
        self.fail(f'no step: {seen}')

    def test_the_first_signal_leaves_a_checkpoint(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            with self.subTest(number):
                process = self.train_until_step()
                process.send_signal(number)
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 128 + number, err)
                self.assertIn('stopping after this step', err)
                self.assertIn('Stopped  after step', err)
                self.assertIn('--resume run', err)
                self.assertNotIn('error:', err)
                metrics = self.metrics('run')
                self.assertLess(metrics[-1]['step'], 1000)
                steps = metrics[-1]['step'] + 1
                self.succeeds('train', 'slow.toml', '--resume', 'run', '--set', f'train.steps={steps}', '--set', 'layer.f.ms=0')
                self.assertEqual(self.metrics('run')[-1]['step'], steps)
                shutil.rmtree(self.folder / 'run')

    def test_a_second_signal_stops_at_once(self):
        self.slow(3000)
        process = self.start('train', 'slow.toml', '--out', 'run')
        for line in process.stderr:
            if line.startswith('Plan'):
                break
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertLess(time.monotonic() - began, 3)

    def test_other_commands_end_at_once(self):
        process = self.start('compare', 'slow.toml', '--steps', '1000')
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 143)


if __name__ == '__main__':
    unittest.main()
