#!/usr/bin/env python3
"""The book example on the CPU against the same GPT in plain PyTorch, in turns: tokens/s and ratios.

    tests/bench/book_bench.py [ROUNDS] [--set KEY=VALUE]...

Both use two threads: ours two devices of one, and one device of two; PyTorch once with the example's micro-batches and once
with whole batches. Needs a build in build/ (or $SWITCHYARD_BUILD) and Python's torch. Random bytes instead of the book.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get('SWITCHYARD_BUILD', ROOT / 'build'))
CONTEXT, VOCABULARY, WIDTH, DEPTH, HEADS, BATCH, MICRO_BATCHES, STEPS = 128, 256, 128, 4, 4, 16, 8, 20


def peer(micro_batches):
    """Seconds of the median step."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(self.norm_1(x)).view(b, t, 3, HEADS, c // HEADS).permute(2, 0, 3, 1, 4)
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
            return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate='tanh'))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.token, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
            self.blocks, self.norm = nn.Sequential(*[Block() for _ in range(DEPTH)]), nn.LayerNorm(WIDTH)

        def forward(self, ids, targets):
            x = self.norm(self.blocks(self.token(ids) + self.position.weight))
            return F.cross_entropy((x @ self.token.weight.t()).flatten(0, 1), targets.flatten())

    torch.set_num_threads(2)
    torch.manual_seed(1)
    model = Gpt()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True)
    ids, targets = (torch.randint(VOCABULARY, (BATCH, CONTEXT)).chunk(micro_batches) for _ in range(2))
    times = []
    for _ in range(STEPS + 3):
        begin = time.perf_counter()
        for some, wanted in zip(ids, targets):
            (model(some, wanted) / micro_batches).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[3:])


def last_line(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'{command}\n{done.stdout[-2000:]}{done.stderr[-4000:]}')
    return json.loads(done.stdout.strip().splitlines()[-1])


def ours(sets):
    command = [BUILD / 'switchyard', 'bench', ROOT / 'examples/train_a_book/train_a_book.toml', '--steps', STEPS, '--json']
    return last_line(command + [word for one in sets for word in ('--set', one)])['tokens_per_s']


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('rounds', nargs='?', type=int, default=3)
    parser.add_argument('--peer', type=int, help=argparse.SUPPRESS)
    parser.add_argument('--set', action='append', default=[])
    arguments = parser.parse_args()
    if arguments.peer:
        print(json.dumps({'tokens_per_s': BATCH * CONTEXT / peer(arguments.peer)}))
        return
    whole = lambda n: last_line([sys.executable, __file__, '--peer', n])['tokens_per_s']  # noqa: E731
    runs = {
        'two devices, a thread each': lambda: ours(['devices.threads=1', *arguments.set]),
        'one device, two threads': lambda: ours(['devices.use=["cpu:0"]', 'devices.threads=2', *arguments.set]),
        'PyTorch, micro-batches': lambda: whole(MICRO_BATCHES),
        'PyTorch, whole batches': lambda: whole(1),
    }
    results = {who: [] for who in runs}
    for _ in range(arguments.rounds):
        for who, run in runs.items():
            results[who].append(run())
    speed = {who: statistics.median(got) for who, got in results.items()}
    for who, got in results.items():
        ratios = [f'{speed[who] / speed[p]:.2f} x {p}' for p in speed if p.startswith('PyTorch')]
        print(f"{who:28} {speed[who]:8.0f} tokens/s [{min(got):.0f} .. {max(got):.0f}]  {', '.join(ratios)}")


if __name__ == '__main__':
    main()
