#!/usr/bin/env python3
"""switchyard plugins, devices, describe."""
import unittest

from program import ProgramTest


class Lists(ProgramTest):
    def test_plugins(self):
        text = self.succeeds('plugins').out
        self.assertRegex(text, r'loaded +\S+sy-layer-plain\.so\n +layer plain_linear')
        self.assertIn('searched: ', text)
        listed = self.succeeds('plugins', '--json').json()
        self.assertIn('loaded', {p['state'] for p in listed['plugins']})

    def test_a_plugin_that_is_none(self):
        (self.folder / 'p').mkdir()
        (self.folder / 'p/sy-layer-text.so').write_text('not a library')
        self.write('with.toml', '[plugins]\npaths = ["p"]\n[[layer]]\ntype = "plain_tanh"\n')
        listed = self.succeeds('plugins', 'with.toml', '--json').json()
        skipped = next(p for p in listed['plugins'] if p['path'].endswith('sy-layer-text.so'))
        self.assertEqual(skipped['state'], 'skipped')
        self.assertTrue(skipped['reason'])
        self.write('load.toml', '[plugins]\nload = ["p/sy-layer-text.so"]\n[[layer]]\ntype = "plain_tanh"\n')
        self.assertIn('sy-layer-text.so', self.refused('plan', 'load.toml').errors[0])

    def test_devices(self):
        self.assertIn('cpu:0', self.succeeds('devices').out)
        backends = {b['name']: b for b in self.succeeds('devices', '--json').json()['backends']}
        self.assertTrue(backends['cpu']['logical'])
        self.assertTrue(backends['cuda']['devices'] or backends['cuda']['reason'])

    def test_describe(self):
        text = self.succeeds('describe', 'plain_linear').out
        for part in ['layer plain_linear', 'out = (required)', 'bias = true', 'width of the output']:
            self.assertIn(part, text)
        self.assertIn('lr = 1e-3', self.succeeds('describe', 'adamw').out)
        self.assertIn('policies: ', self.succeeds('describe').out)
        kinds = self.succeeds('describe', 'contiguous', '--json').json()
        self.assertEqual([(k['kind'], k['name']) for k in kinds], [('policy', 'contiguous')])

    def test_communicators(self):
        known = self.succeeds('describe', '--json').json()['communicators']
        self.assertLessEqual(set(known), {'mpi', 'nccl'})
        for name in known:  # those that were built; loading one needs neither a GPU nor mpirun
            described = self.succeeds('describe', name, '--json').json()
            self.assertEqual([(k['kind'], k['plugin']) for k in described], [('comm', 'comm-' + name)])
            plugins = self.succeeds('plugins', '--json').json()['plugins']
            self.assertIn('comm-' + name, {p['id'] for p in plugins})

    def test_unknown_type(self):
        error = self.refused('describe', 'plain_liner').errors[0]
        self.assertIn("did you mean 'plain_linear'?", error)
        self.assertIn('searched: ', error)


if __name__ == '__main__':
    unittest.main()
