#!/usr/bin/env python3
"""What `switchyard check` is asked with: inputs, options, types, one of several things; and what it refuses."""
import os

import unittest

from program import ProgramTest

PLAIN = os.path.join(os.environ['SWITCHYARD_BUILD'], 'tests/plugins/plain/sy-layer-plain.so')


class Request(ProgramTest):
    def check(self, *arguments):
        return self.succeeds('check', PLAIN, *arguments)

    def test_it_says_what_was_tried(self):
        out = self.check('--only', 'plain_linear', '--set', 'out=3', '--input', '5x4').out
        self.assertTrue(out.startswith('layer plain_linear, tried with out = 3, input 5x4 fp32\n'), out)
        self.assertTrue(out.endswith('nothing failed\n'), out)
        self.assertNotIn('plain_relu', out)

    def test_types(self):
        self.assertIn('input 4x8 bf16', self.check('--only', 'plain_tanh', '--type', 'bf16').out)
        self.assertIn('4x3 int64', self.check('--only', 'plain_embedding', '--input', '4x3:int64').out)

    def test_json(self):
        report = self.check('--only', 'plain_linear', '--json').json()
        self.assertEqual([s['name'] for s in report['subjects']], ['plain_linear'])
        self.assertIn({'check': 'split backward', 'state': 'ok', 'text': ''}, report['subjects'][0]['checks'])

    def test_inputs_that_it_does_not_take(self):
        result = self.run_program('check', PLAIN, '--only', 'plain_embedding', '--input', '4x8')
        self.assertEqual(result.code, 1)
        self.assertIn('runs: FAILED: no inputs were found with which it runs', result.out)
        self.assertIn('--input 4x6:int64', result.out)

    def test_refusals(self):
        self.assertIn('no_such.so', self.refused('check', './no_such.so').errors[0])
        self.assertIn('PLUGIN', self.refused('check').errors[0])
        for words, text in ((('--input', '4xx'), 'wanted something like 4x8'), (('--input', '4:words'), "no type 'words'"),
                            (('--type', 'int8'), 'wanted fp64'), (('--set', 'out'), 'wanted KEY=VALUE'),
                            (('--only', 'nobody'), 'it offers layer plain_linear')):
            self.assertIn(text, self.refused('check', PLAIN, *words).errors[0])


unittest.main()
