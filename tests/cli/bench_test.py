#!/usr/bin/env python3
"""switchyard bench: the numbers of a step fit each other."""
import statistics
import unittest

from program import ProgramTest


class Bench(ProgramTest):
    def test_rates_follow_from_the_seconds(self):
        got = self.succeeds('bench', 'tokens.toml', '--steps', '5', '--warm-up', '1', '--peak-flops', '1e10', '--json').json()
        self.assertEqual(len(got['seconds']), 5)
        self.assertEqual(got['median_s'], statistics.median(got['seconds']))
        self.assertAlmostEqual(got['samples_per_s'], 4 / got['median_s'])
        self.assertAlmostEqual(got['tokens_per_s'], 8 * got['samples_per_s'])
        self.assertAlmostEqual(got['mfu'], got['flops'] / got['median_s'] / 2e10)
        plan = self.succeeds('plan', 'tokens.toml', '--json', '-').json()
        for device, planned in zip(got['devices'], plan['devices'], strict=True):
            self.assertEqual((device['name'], device['planned']), (planned['name'], planned['memory']['peak']))
            self.assertGreater(device['measured'], 0)
            self.assertTrue(0 < device['idle'] < 1)
        self.assertNotIn('mfu', self.succeeds('bench', 'tokens.toml', '--steps', '1', '--json').json())

    def test_people_read_a_table(self):
        out = self.succeeds('bench', 'tokens.toml', '--steps', '2', '--warm-up', '0').out
        for word in ['median of 2', 'tokens/s', 'cpu:0', 'cpu:1', 'planned', 'measured', 'idle']:
            self.assertIn(word, out)
        self.assertIn('steps', self.refused('bench', 'tokens.toml', '--steps', '-1').errors[0])


if __name__ == '__main__':
    unittest.main()
