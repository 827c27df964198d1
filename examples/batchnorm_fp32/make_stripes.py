#!/usr/bin/env python3
"""Writes stripes.safetensors: 256 pictures of 12 x 12 pixels; the class is the direction of the stripes."""
import array
import json
import math
import os
import random
import struct

SAMPLES, SIZE = 256, 12
DIRECTIONS = [(1, 0), (0, 1), (1, 1), (1, -1)]

rng = random.Random(1)
inputs, targets = array.array("f"), array.array("q")
for _ in range(SAMPLES):
    direction, begin = rng.randrange(4), rng.random()
    targets.append(direction)
    down, right = DIRECTIONS[direction]
    for row in range(SIZE):
        for column in range(SIZE):
            turn = begin + (down * row + right * column) / 4
            inputs.append(math.sin(2 * math.pi * turn) + rng.gauss(0, 0.5))

# safetensors: length of the header, header, bytes
size = len(inputs) * 4
header = json.dumps({
    "inputs": {"dtype": "F32", "shape": [SAMPLES, 1, SIZE, SIZE], "data_offsets": [0, size]},
    "targets": {"dtype": "I64", "shape": [SAMPLES], "data_offsets": [size, size + len(targets) * 8]},
}).encode()
header += b" " * (-len(header) % 8)
with open(os.path.join(os.path.dirname(__file__), "stripes.safetensors"), "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + inputs.tobytes() + targets.tobytes())
