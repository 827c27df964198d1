#!/usr/bin/env python3
"""switchyard generate."""
import unittest

from program import ProgramTest


class Generate(ProgramTest):
    def test_the_same_text_on_any_plan(self):
        greedy = ['--temperature', '0', '-n', '12', '--json']
        texts = {self.succeeds('generate', 'tokens.toml', *greedy, '--set', s).json()['text']
                 for s in ['placement.policy=contiguous', 'placement.policy=round_robin', 'devices.use=["cpu:0"]']}
        self.assertEqual(len(texts), 1)

    def test_the_same_seed_writes_the_same(self):
        def ids(seed):
            return self.succeeds('generate', 'tokens.toml', '--seed', str(seed), '-n', '12', '--json').json()['ids']
        self.assertEqual(ids(1), ids(1))
        self.assertNotEqual(ids(1), ids(2))

    def test_text_on_stdout(self):
        result = self.succeeds('generate', 'tokens.toml', '--prompt', 'The fox', '--seed', '3')
        as_json = self.succeeds('generate', 'tokens.toml', '--prompt', 'The fox', '--seed', '3', '--json').json()
        self.assertEqual(result.out, as_json['text'] + '\n')
        self.assertEqual(as_json['prompt'], 'The fox')
        self.assertEqual(len(as_json['ids']), 8)  # generate.tokens

    def test_sampling_options(self):
        for option, value in [('--temperature', '-1'), ('--temperature', 'nan'), ('--top-k', '-1'), ('--top-p', '1.5')]:
            error = self.refused('generate', 'tokens.toml', option, value).errors[0]
            self.assertIn('generate.' + option[2:].replace('-', '_'), error)
        for option, value in [('--temperature', '1e-4'), ('--top-k', '1000'), ('--top-p', '0')]:
            self.succeeds('generate', 'tokens.toml', option, value)
        greedy = self.succeeds('generate', 'tokens.toml', '--temperature', '0', '--json').json()['ids']
        self.assertEqual(self.succeeds('generate', 'tokens.toml', '--top-k', '1', '--json').json()['ids'], greedy)

    def test_past_the_context(self):
        arguments = ['--prompt', 'abcdef', '-n', '6', '--json']
        self.assertEqual(len(self.succeeds('generate', 'tokens.toml', *arguments).json()['ids']), 6)
        stop = self.succeeds('generate', 'tokens.toml', *arguments, '--set', 'generate.overflow=stop').json()
        self.assertEqual(len(stop['ids']), 2)
        error = self.refused('generate', 'tokens.toml', *arguments, '--set', 'generate.overflow=error').errors[0]
        self.assertIn('12 > 8', error)

    def test_stop_text(self):
        told = self.succeeds('generate', 'tokens.toml', '--temperature', '0', '-n', '20', '--json').json()['text']
        stop = told[4]
        cut = self.succeeds('generate', 'tokens.toml', '--temperature', '0', '-n', '20', '--stop', stop, '--json').json()
        self.assertEqual(cut['text'], told[:told.index(stop)])
        self.assertEqual(cut['end'], 'stop')


if __name__ == '__main__':
    unittest.main()
