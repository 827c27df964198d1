"""Small configurations of plain layers over two devices."""
import array
import random

POINTS = '''
seed = 3
[model]
input = { shape = [4] }
[[layer]]
type = "plain_linear"
name = "a"
out = 8
[[layer]]
type = "plain_batchnorm"
name = "norm"
[[layer]]
type = "plain_tanh"
name = "t"
[[layer]]
type = "plain_linear"
name = "b"
out = 3
[[layer]]
type = "plain_cross_entropy"
[devices]
use = ["cpu:0", "cpu:1"]
threads = 1
[placement]
policy = "contiguous"
[schedule]
micro_batches = 2
[train]
batch = 6
clip_norm = 0.0
optimizer = { type = "sgd", lr = 0.1 }
'''
TOKENS = '''
[model]
context = 8
[[layer]]
type = "plain_embedding"
name = "embed"
vocabulary = 256
width = 8
[[layer]]
type = "plain_linear"
name = "up"
out = 8
[[layer]]
type = "plain_head"
name = "head"
vocabulary = 256
[devices]
use = ["cpu:0", "cpu:1"]
threads = 1
[placement]
policy = "contiguous"
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


def shaped(values, *shape):
    """A memoryview of these sizes over an array."""
    return memoryview(values).cast("B").cast(values.typecode, list(shape))


def points(seed, rows=6):
    """Numbers [rows, 4] and classes [rows], without numpy."""
    rng = random.Random(seed)
    numbers = array.array("f", (rng.gauss(0, 1) for _ in range(4 * rows)))
    return shaped(numbers, rows, 4), array.array("q", (rng.randrange(3) for _ in range(rows)))
