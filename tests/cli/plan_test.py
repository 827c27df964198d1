#!/usr/bin/env python3
"""switchyard plan: the table, the JSON, budgets."""
import json
import unittest

from program import TOKENS, ProgramTest


class Plan(ProgramTest):
    def test_table_on_stdout(self):
        result = self.succeeds('plan', 'tokens.toml')
        self.assertIn('6 layers, 2 stages, 2 devices; contiguous, 1f1b, 2 micro-batches of 2 x 8', result.out)
        for word in ['weights', 'gradients', 'optimizer', 'edges', 'activations', 'peak', 'cpu:0', 'cpu:1', 'note: it fits']:
            self.assertIn(word, result.out)
        self.assertEqual(result.err, '')

    def test_json(self):
        plan = self.succeeds('plan', 'tokens.toml', '--json', '-').json()
        self.assertEqual([d['name'] for d in plan['devices']], ['cpu:0', 'cpu:1'])
        self.assertTrue(all(d['replica'] == 0 and d['shard'] == 0 for d in plan['devices']))
        self.assertEqual(sum(len(s['layers']) for s in plan['stages']), 6)
        table = self.succeeds('plan', 'tokens.toml', '--json', 'plan.json').out
        self.assertIn('edges', table)
        self.assertEqual(json.loads((self.folder / 'plan.json').read_text()), plan)
        self.refused('plan', 'tokens.toml', '--json', 'no/folder/plan.json')

    def test_a_schedule_is_written_edited_and_read(self):
        self.succeeds('plan', 'tokens.toml', '--set', 'schedule.type=gpipe', '--schedule', 'gpipe.txt')
        written = (self.folder / 'gpipe.txt').read_text()
        self.assertIn('\ncpu:0: F0.0 F0.1 B0.0 B0.1\n', written)
        file = ['--set', 'schedule.type=file', '--set', 'schedule.file=gpipe.txt']
        self.assertIn('contiguous, file, 2 micro-batches', self.succeeds('plan', 'tokens.toml', *file).out)
        of_file = self.succeeds('plan', 'tokens.toml', *file, '--json', '-').json()
        of_gpipe = self.succeeds('plan', 'tokens.toml', '--set', 'schedule.type=gpipe', '--json', '-').json()
        self.assertEqual([d['program'] for d in of_file['devices']], [d['program'] for d in of_gpipe['devices']])
        self.assertEqual(of_file['prediction'], of_gpipe['prediction'])
        self.write('gpipe.txt', written.replace('F0.1', 'F0.2'))
        error = self.refused('plan', 'tokens.toml', *file).errors[0]
        line = 1 + written.splitlines().index('cpu:0: F0.0 F0.1 B0.0 B0.1')
        self.assertIn(f'gpipe.txt:{line}:13: device cpu:0, action 1: F of stage 0, micro-batch 2', error)
        self.refused('plan', 'tokens.toml', '--schedule', 'no/folder/schedule.txt')
        self.assertIn('cannot be read', self.refused('plan', 'tokens.toml', '--set', 'schedule.type=file', '--set', 'schedule.file=none').errors[0])

    def test_reads_no_data_and_writes_nothing(self):
        (self.folder / 'book.txt').unlink()
        self.succeeds('plan', 'tokens.toml')
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ['tokens.toml'])

    def test_transfers_of_two_policies(self):
        def transfers(policy):
            return self.succeeds('plan', 'tokens.toml', '--set', f'placement.policy={policy}', '--json', '-').json()['transfers']
        self.assertLess(transfers('contiguous')['forward'], transfers('round_robin')['forward'])

    def test_over_budget(self):
        error = self.refused('plan', 'tokens.toml', '--set', 'devices.memory=20KiB').errors[0]
        self.assertRegex(error, r"^error: tokens\.toml:\d+:\d+: layer \d '\S+' \(plain_\w+\) does not fit on cpu:\d: needs ")
        for part in [' left of 20 KiB (', ' short)', 'largest item: ', 'checked']:
            self.assertIn(part, error)

    def test_auto_chooses_and_says_what_else_was_tried(self):
        plan = self.succeeds('plan', 'tokens.toml', '--set', 'placement.policy=auto', '--set', 'schedule.type=auto', '--json', '-').json()
        self.assertEqual([plan['policy'], plan['schedule'], plan['micro_batches']['count']],
                         [plan['tried'][0][key] for key in ['policy', 'schedule', 'micro_batches']])
        self.assertEqual(plan['prediction']['step_s'], min(t['step_s'] for t in plan['tried'] if t['fits']))
        self.assertIn(f"is the fastest of {len(plan['tried'])} tried", plan['notes'][0])

    def test_compare_and_train_take_what_auto_chose(self):
        automatic = ['--set', 'placement.policy=auto', '--set', 'schedule.type=auto']
        self.assertIn('equal', self.succeeds('compare', 'tokens.toml', *automatic).out)
        self.succeeds('train', 'tokens.toml', '--set', 'train.steps=1', '--out', 'chosen', *automatic)

    def test_sweep(self):
        out = self.succeeds('plan', 'tokens.toml', '--sweep', '--svg', 'sweep.svg', '--json', 'sweep.json').out
        trials = json.loads((self.folder / 'sweep.json').read_text())
        self.assertTrue({'contiguous', 'round_robin', 'memory_balanced'} <= {t['policy'] for t in trials})
        self.assertEqual({t['recompute'] for t in trials}, {'none', 'all'})
        self.assertRegex(out.splitlines()[1], rf"^{trials[0]['policy']} +{trials[0]['schedule']} +{trials[0]['micro_batches']} ")
        self.assertIn('</svg>', (self.folder / 'sweep.svg').read_text())
        self.assertIn('--sweep', self.refused('plan', 'tokens.toml', '--svg', 'sweep.svg').errors[0])

    def test_measured_costs_are_kept_and_used(self):
        assumed = self.succeeds('plan', 'tokens.toml', '--json', '-').json()['prediction']
        self.assertIn('measured', self.succeeds('plan', 'tokens.toml', '--measure').out)
        self.assertTrue((self.folder / 'tokens.costs.json').exists())
        later = self.succeeds('plan', 'tokens.toml', '--json', '-').json()['prediction']
        self.assertEqual([assumed['basis'], later['basis']], ['assumed', 'measured'])
        self.assertNotEqual(assumed['step_s'], later['step_s'])

    def test_a_sweep_times_every_micro_batch_size_that_it_compares(self):
        self.succeeds('plan', 'tokens.toml', '--measure')
        mixed = self.succeeds('plan', 'tokens.toml', '--sweep').out
        self.assertRegex(mixed, r'warning times with [0-9, ]+ micro-batches are assumed beside measured ones')
        trials = self.succeeds('plan', 'tokens.toml', '--sweep', '--measure', '--json', '-').json()
        self.assertTrue(all(t['measured'] for t in trials if 'step_s' in t))
        self.assertNotIn('assumed', self.succeeds('plan', 'tokens.toml', '--sweep').out)

    def test_auto_times_what_it_may_choose(self):
        self.write('free.toml', TOKENS.replace('micro_batches = 2', ''))
        automatic = ['free.toml', '--set', 'placement.policy=auto', '--set', 'schedule.type=auto']
        self.succeeds('plan', 'free.toml', '--measure')
        self.assertIn('are assumed beside measured ones', self.succeeds('plan', *automatic).out)
        self.assertNotIn('are assumed', self.succeeds('plan', *automatic, '--measure').out)

    def test_a_described_machine(self):
        there = ['--set', 'devices.machine=h100-sxm', '--set', 'devices.use=auto', '--set', 'placement.policy=memory_balanced']
        plan = self.succeeds('plan', 'tokens.toml', *there, '--json', '-').json()
        self.assertEqual([len(plan['devices']), plan['machine']['name'], plan['prediction']['basis']], [8, 'h100-sxm', 'described'])
        self.assertIn('not', self.refused('train', 'tokens.toml', *there).errors[0])

    def test_more_stages_than_layers(self):
        error = self.refused('plan', 'tokens.toml', '--set', 'devices.use="cpu:{0..6}"', '--set', 'placement.contiguous.counts=[1,1,1,1,1,1,1]').errors[0]
        self.assertIn('7', error)
        self.assertIn('6', error)

    def test_all_unplaced_layers_are_listed(self):
        self.write('explicit.toml', TOKENS.replace('policy = "contiguous"', 'policy = "explicit"') + '[placement.explicit]\n"h.*" = "cpu:1"\n')
        errors = '\n'.join(self.refused('plan', 'explicit.toml').errors)
        self.assertIn('embed', errors)
        self.assertIn('head', errors)

    def test_a_machine_that_is_elsewhere(self):
        out = self.succeeds('plan', 'tokens.toml', '--set', 'devices.use=["cuda:98", "cuda:99"]', '--set', 'devices.memory=1GiB').out
        self.assertIn('cuda:99', out)
        self.assertIn('1 GiB', out)
        error = self.refused('train', 'tokens.toml', '--set', 'devices.use=["cuda:98", "cuda:99"]', '--set', 'devices.memory=1GiB').errors[0]
        self.assertIn('cuda:98', error)


if __name__ == '__main__':
    unittest.main()
