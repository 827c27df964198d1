#!/usr/bin/env python3
"""switchyard train and what it leaves: folders, files, resuming, equal bits."""
import hashlib
import os
import struct
import unittest

from program import ProgramTest


def as_float(number):
    """Losses are floats: metrics.jsonl gives those a float's digits."""
    return struct.unpack('f', struct.pack('f', number))[0]


class Train(ProgramTest):
    def digest(self, run):
        return hashlib.sha256((self.folder / run / 'checkpoint/model.safetensors').read_bytes()).hexdigest()

    def test_a_run(self):
        result = self.succeeds('train', 'tokens.toml')
        self.assertEqual(result.out, '')
        self.assertNotIn('\x1b', result.err)
        lines = result.err.splitlines()
        self.assertTrue(lines[0].startswith('Plan     contiguous, 1f1b, 2 micro-batches'), result.err)
        self.assertTrue(any(l.startswith('step 2/4') for l in lines))
        self.assertTrue(any(l.startswith('step 4/4') and 'held out' in l for l in lines))
        done = next(l for l in lines if l.startswith('Done'))
        self.assertIn('nats per byte; peak planned', done)
        self.assertIn('runs/tokens-001/loss.svg', result.err)
        run = self.folder / 'runs/tokens-001'
        for name in ['config.toml', 'plan.json', 'metrics.jsonl', 'loss.svg', 'sample.txt', 'checkpoint/model.safetensors',
                     'checkpoint/optimizer.safetensors']:
            self.assertTrue((run / name).exists(), name)
        self.assertEqual(os.path.realpath(self.folder / 'runs/latest'), os.path.realpath(run))
        self.assertEqual([m['step'] for m in self.metrics('runs/tokens-001')], [2, 4])
        self.succeeds('train', 'tokens.toml')
        self.assertTrue((self.folder / 'runs/tokens-002').is_dir())

    def test_a_folder_that_is_in_use(self):
        self.succeeds('train', 'tokens.toml', '--out', 'a', '--set', 'train.steps=1')
        self.assertIn('--resume', self.refused('train', 'tokens.toml', '--out', 'a').errors[0])
        self.refused('train', 'tokens.toml', '--resume', 'nowhere')

    def test_resuming_equals_going_on(self):
        self.succeeds('train', 'tokens.toml', '--out', 'whole')
        self.succeeds('train', 'tokens.toml', '--out', 'half', '--set', 'train.steps=2')
        self.assertNotEqual(self.digest('half'), self.digest('whole'))
        self.succeeds('train', 'tokens.toml', '--resume', 'half', '--set', 'placement.policy=round_robin')
        self.assertEqual(self.digest('half'), self.digest('whole'))
        whole = {m['step']: m['loss'] for m in self.metrics('whole')}
        self.assertEqual({m['step']: m['loss'] for m in self.metrics('half')}, whole)

    def test_placement_changes_nothing(self):
        digests = set()
        for i, sets in enumerate([[], ['placement.policy=round_robin'], ['devices.use=["cpu:0"]'], ['schedule.type=gpipe']]):
            arguments = [a for s in sets for a in ('--set', s)]
            self.succeeds('train', 'tokens.toml', '--out', f'r{i}', *arguments)
            digests.add(self.digest(f'r{i}'))
        self.assertEqual(len(digests), 1)

    def test_no_steps_writes_the_first_weights(self):
        self.succeeds('train', 'tokens.toml', '--out', 'a', '--set', 'train.steps=0')
        self.succeeds('train', 'tokens.toml', '--out', 'b', '--set', 'train.steps=0', '--set', 'placement.policy=round_robin')
        self.assertEqual(self.digest('a'), self.digest('b'))

    def test_evaluating_and_inspecting_a_run(self):
        self.succeeds('train', 'tokens.toml', '--out', 'a')
        told = self.metrics('a')[-1]['val_loss']
        evaluation = self.succeeds('eval', 'a', '--json').json()
        self.assertEqual(as_float(evaluation['loss']), as_float(told))
        self.assertIn(f"loss {evaluation['loss']!r} nats per byte", self.succeeds('eval', 'a').out)
        of_run = self.succeeds('inspect', 'a', '--json').json()
        of_file = self.succeeds('inspect', 'a/checkpoint/model.safetensors', '--json').json()
        self.assertEqual(of_run['sha256'], of_file['sha256'])
        self.assertIn('embed.token.weight', self.succeeds('inspect', 'tokens.toml').out)

    def test_eval_without_anything_held_out(self):
        self.assertIn('data.validation', self.refused('eval', 'tokens.toml', '--set', 'data.validation=0').errors[0])

    def test_compare(self):
        result = self.succeeds('compare', 'tokens.toml', '--steps', '2')
        self.assertIn('2 steps equal one device bit for bit', result.out)
        self.assertTrue(self.succeeds('compare', 'tokens.toml', '--steps', '1', '--json').json()['equal'])


if __name__ == '__main__':
    unittest.main()
