"""The program under test, and the small configurations that its tests use."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ['SWITCHYARD']

# A residual token model of plain layers over two devices.
TOKENS = '''
[model]
context = 8
[[layer]]
type = "plain_embedding"
name = "embed"
vocabulary = 256
width = 8
[[layer]]
name = "h"
repeat = 2
[[layer.layer]]
type = "plain_linear"
name = "up"
out = 8
[[layer.layer]]
type = "plain_add"
name = "add"
input = ["up", "in"]
[[layer]]
type = "plain_head"
name = "head"
vocabulary = 256
[devices]
use = ["cpu:0", "cpu:1"]
threads = 1
[placement]
policy = "contiguous"
[schedule]
type = "1f1b"
micro_batches = 2
[train]
batch = 4
steps = 4
report_every = 2
eval_windows = 4
optimizer = { type = "sgd", lr = 0.1 }
[data]
text = "book.txt"
[generate]
prompt = "The "
tokens = 8
'''


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        self.errors = [line for line in err.splitlines() if line.startswith('error:')]

    def json(self):
        return json.loads(self.out)


class ProgramTest(unittest.TestCase):
    """Each test runs in an empty folder of its own that holds tokens.toml and book.txt."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write('tokens.toml', TOKENS)
        self.write('book.txt', 'The quick brown fox jumps over the lazy dog. ' * 30)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def start(self, *arguments, **options):
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, text=True, **options)

    def run_program(self, *arguments, **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=100)
        return Result(process.returncode, out, err)

    def succeeds(self, *arguments, **options):
        result = self.run_program(*arguments, **options)
        self.assertEqual(result.code, 0, f'{arguments}: {result.err}')
        self.assertEqual(result.errors, [])
        return result

    def refused(self, *arguments, code=2, **options):
        """The program ends with this code and at least one line that begins with error:."""
        result = self.run_program(*arguments, **options)
        self.assertEqual(result.code, code, f'{arguments}: {result.err}')
        self.assertTrue(result.errors, f'{arguments}: no error line in {result.err!r}')
        return result

    def metrics(self, run):
        return [json.loads(line) for line in (self.folder / run / 'metrics.jsonl').read_text().splitlines()]
