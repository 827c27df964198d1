#!/usr/bin/env python3
"""What the command line itself takes and refuses."""
import subprocess
import unittest

from program import PROGRAM, ProgramTest


class Arguments(ProgramTest):
    def test_no_command(self):
        result = self.refused()
        self.assertIn('a command is missing; known: train, eval,', result.errors[0])

    def test_unknown_command(self):
        result = self.refused('trian', 'tokens.toml')
        self.assertIn("'trian' is no command; known: train,", result.errors[0])

    def test_unknown_option_names_the_help(self):
        result = self.refused('train', 'tokens.toml', '--learning-rate', '3')
        self.assertIn('--learning-rate', result.errors[0])
        self.assertIn('train --help', result.errors[0])

    def test_missing_config(self):
        self.assertIn('CONFIG', self.refused('train').errors[0])

    def test_help_goes_to_stdout(self):
        for arguments in (['--help'], ['train', '--help'], ['generate', '-h']):
            result = self.succeeds(*arguments)
            self.assertIn('Usage:', result.out)
            self.assertEqual(result.err, '')

    def test_version(self):
        self.assertRegex(self.succeeds('version').out, r'^switchyard \d+\.\d+\.\d+, ABI \d+\.\d+\n$')

    def test_numbers(self):
        self.refused('generate', 'tokens.toml', '-n', 'many')
        self.refused('compare', 'tokens.toml', '--steps', '0')

    def test_stdout_that_is_full(self):
        with open('/dev/full', 'w') as full:
            done = subprocess.run([PROGRAM, 'plan', 'tokens.toml'], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn('error: stdout cannot be written to', done.stderr)


if __name__ == '__main__':
    unittest.main()
