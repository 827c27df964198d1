#!/usr/bin/env python3
"""The plugins that come with Switchyard, and the plain layers of the tests, pass their own checks."""
import glob
import json
import os
import subprocess
import unittest

from program import PROGRAM

BUILD = os.environ['SWITCHYARD_BUILD']


def check(path, *arguments):
    done = subprocess.run([PROGRAM, 'check', path, '--json', *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if not done.stdout:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Plugins(unittest.TestCase):
    def test_nothing_fails(self):
        files = glob.glob(os.path.join(BUILD, 'plugins', 'sy-*.so')) + glob.glob(os.path.join(BUILD, 'tests/plugins/plain/*.so'))
        self.assertGreater(len(files), 12)
        for path in files:
            if os.path.basename(path).startswith(('sy-backend-', 'sy-comm-')):  # theirs are in tests/backends
                continue
            with self.subTest(path=path):
                report = check(path)
                failed = [(s['name'], c['check'], c['text']) for s in report['subjects'] for c in s['checks'] if c['state'] == 'failed']
                self.assertEqual(failed, [])
                self.assertEqual(report['failed'], 0)
                self.assertTrue(report['subjects'])
                for subject in report['subjects']:  # most of the checks apply
                    states = [c['state'] for c in subject['checks']]
                    self.assertGreater(states.count('ok'), len(states) // 2 - 1, subject)


unittest.main()
