#!/usr/bin/env python3
"""Mistakes of configurations, --set, and --print-config."""
import unittest

from program import TOKENS, ProgramTest


class Config(ProgramTest):
    def test_a_line_for_each_mistake(self):
        self.write('wrong.toml', TOKENS.replace('[schedule]', '[pipelin]\n[schedule]')
                   .replace('micro_batches = 2', 'micro-batches = 2').replace('batch = 4', 'lerning_rate = 4'))
        for command in ['train', 'plan', 'eval', 'compare', 'inspect']:
            result = self.refused(command, 'wrong.toml')
            self.assertEqual(len(result.errors), 3, result.err)
            for error in result.errors:
                self.assertRegex(error, r'^error: wrong\.toml:\d+:\d+: ')
            self.assertEqual(result.out, '')

    def test_at_most_20_mistakes(self):
        self.write('wrong.toml', ''.join(f'x{i} = 1\n' for i in range(30)) + TOKENS)
        errors = self.refused('plan', 'wrong.toml').errors
        self.assertEqual(len(errors), 21)
        self.assertIn('10 more', errors[-1])

    def test_hints(self):
        self.assertIn('micro_batches', self.refused('plan', 'tokens.toml', '--set', 'schedule.microbatches=2').errors[0])
        self.assertIn('contiguous', self.refused('plan', 'tokens.toml', '--set', 'placement.policy=contigous').errors[0])
        self.assertIn('plain_linear', self.refused('plan', 'tokens.toml', '--set', 'layer.h.layer.up.type=plain_liner').errors[0])

    def test_a_wrong_set_is_named(self):
        error = self.refused('plan', 'tokens.toml', '--set', 'train.batch=many').errors[0]
        self.assertIn('--set train.batch=many', error)
        self.assertIn('integer', error)
        self.refused('plan', 'tokens.toml', '--set', 'train.batch')

    def test_set_changes_the_result(self):
        before = self.succeeds('plan', 'tokens.toml').out
        after = self.succeeds('plan', 'tokens.toml', '--set', 'placement.policy=round_robin', '--set', 'train.batch=8').out
        self.assertIn('contiguous', before)
        self.assertIn('round_robin', after)
        self.assertIn('micro-batches of 4 x 8', after)

    def test_missing_file(self):
        self.assertIn('nowhere.toml', self.refused('train', 'nowhere.toml').errors[0])
        self.assertIn('book.txt', self.refused('train', 'tokens.toml', '--set', 'data.text=nobook.txt').errors[0].replace('nobook', 'book'))

    def test_print_config_is_a_fixed_point(self):
        printed = self.succeeds('train', 'tokens.toml', '--set', 'train.steps=7', '--print-config').out
        self.assertIn('steps = 7\t# --set train.steps=7', printed)
        self.assertIn('momentum', printed)  # a default of the optimizer's
        self.assertFalse((self.folder / 'runs').exists())
        self.write('printed.toml', printed)
        self.assertEqual(self.succeeds('train', 'printed.toml', '--print-config').out, printed)
        plan = self.succeeds('plan', 'tokens.toml', '--json', '-').out
        self.assertEqual(self.succeeds('plan', 'printed.toml', '--json', '-').out, plan)

    def test_swapping_a_policy_needs_one_key(self):
        self.write('both.toml', TOKENS + '[placement.round_robin]\nends = "split"\n[placement.contiguous]\ncuts = ["h.1"]\n')
        for policy in ['contiguous', 'round_robin', 'memory_balanced']:
            self.assertIn(policy, self.succeeds('plan', 'both.toml', '--set', f'placement.policy={policy}').out)
        error = self.refused('plan', 'both.toml', '--set', 'placement.round_robin.end=first').errors[0]
        self.assertIn('ends', error)


if __name__ == '__main__':
    unittest.main()
