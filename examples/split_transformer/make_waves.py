#!/usr/bin/env python3
"""Writes waves.safetensors: 256 series of 16 steps and 8 numbers; the class is which two of the numbers swing most."""
import array
import json
import math
import os
import random
import struct

SAMPLES, STEPS, WIDTH = 256, 16, 8

rng = random.Random(1)
inputs, targets = array.array("f"), array.array("q")
for _ in range(SAMPLES):
    loudest = rng.randrange(4)
    begins = [rng.random() for _ in range(WIDTH)]
    targets.append(loudest)
    for step in range(STEPS):
        for channel in range(WIDTH):
            height = 1.5 if channel // 2 == loudest else 0.5
            inputs.append(height * math.sin(2 * math.pi * (begins[channel] + step / 8)) + rng.gauss(0, 0.3))

# safetensors: length of the header, header, bytes
size = len(inputs) * 4
header = json.dumps({
    "inputs": {"dtype": "F32", "shape": [SAMPLES, STEPS, WIDTH], "data_offsets": [0, size]},
    "targets": {"dtype": "I64", "shape": [SAMPLES], "data_offsets": [size, size + len(targets) * 8]},
}).encode()
header += b" " * (-len(header) % 8)
with open(os.path.join(os.path.dirname(__file__), "waves.safetensors"), "wb") as file:
    file.write(struct.pack("<Q", len(header)) + header + inputs.tobytes() + targets.tobytes())
