"""The same GPT, and the same work in a step, in plain PyTorch: the peer of `switchyard bench` in tests/bench/gpu/run.

    python3 peer.py --width 768 --depth 12 --heads 12 --samples 8 [--compile]        one GPU
    torchrun --nproc-per-node 2 peer.py ... --pipeline [--compile]                   two, torch.distributed.pipelining, 1F1B

Weights and gradients in fp32, products in bf16 under autocast, fused AdamW. Prints a line of JSON: the seconds of each step, the
median, tokens a second, peak bytes of each GPU.
"""
import argparse
import json
import os
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

CONTEXT, VOCABULARY, MICRO_BATCHES = 1024, 50304, 16


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm_2(x)), approximate='tanh'))


class Embedding(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, width), nn.Embedding(CONTEXT, width)

    def forward(self, ids):
        return self.token(ids) + self.position(torch.arange(ids.shape[1], device=ids.device))


class Head(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.project = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, x):
        return self.project(self.norm(x))


def loss_of(logits, targets):
    return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())


def layers(arguments, first, last):
    """The layers of one stage: embedding, blocks `first` to `last`, head, whichever lie there."""
    all_blocks = [Block(arguments.width, arguments.heads) for _ in range(first, last)]
    if arguments.compile:
        for block in all_blocks:
            block.compile()
    before = [Embedding(arguments.width)] if first == 0 else []
    return nn.Sequential(*before, *all_blocks, *([Head(arguments.width)] if last == arguments.depth else []))


def timed(arguments, step):
    seconds = []
    for i in range(arguments.warm_up + arguments.steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        if i >= arguments.warm_up:
            seconds.append(time.perf_counter() - begin)
    return seconds


def one_gpu(arguments):
    device = torch.device('cuda', 0)
    model = layers(arguments, 0, arguments.depth).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)
    ids = torch.randint(VOCABULARY, (MICRO_BATCHES, arguments.samples, CONTEXT + 1), device=device)

    def step():
        for micro in ids:
            with torch.autocast('cuda', torch.bfloat16):
                loss = loss_of(model(micro[:, :-1]), micro[:, 1:]) / MICRO_BATCHES
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return timed(arguments, step), [torch.cuda.max_memory_allocated()]


def pipeline(arguments):
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    dist.init_process_group('nccl')
    rank, ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device('cuda', int(os.environ['LOCAL_RANK']))
    torch.cuda.set_device(device)
    cuts = [arguments.depth * r // ranks for r in range(ranks + 1)]
    model = layers(arguments, cuts[rank], cuts[rank + 1]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)
    schedule = Schedule1F1B(PipelineStage(model, rank, ranks, device), MICRO_BATCHES, loss_fn=loss_of)
    ids = torch.randint(VOCABULARY, (MICRO_BATCHES * arguments.samples, CONTEXT + 1), device=device)

    def step():
        with torch.autocast('cuda', torch.bfloat16):
            if rank == 0:
                schedule.step(ids[:, :-1])
            elif rank == ranks - 1:
                schedule.step(target=ids[:, 1:])
            else:
                schedule.step()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    seconds = timed(arguments, step)
    peaks = [None] * ranks
    dist.all_gather_object(peaks, torch.cuda.max_memory_allocated())
    dist.destroy_process_group()
    return (seconds if rank == 0 else None), peaks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in dict(width=768, depth=12, heads=12, samples=8, steps=10, warm_up=3).items():
        parser.add_argument('--' + name.replace('_', '-'), type=int, default=default)
    parser.add_argument('--compile', action='store_true')
    parser.add_argument('--pipeline', action='store_true')
    arguments = parser.parse_args()
    torch.manual_seed(1)
    seconds, peaks = (pipeline if arguments.pipeline else one_gpu)(arguments)
    if seconds is not None:
        median = statistics.median(seconds)
        tokens = MICRO_BATCHES * arguments.samples * CONTEXT
        print(json.dumps({'seconds': seconds, 'median_s': median, 'tokens_per_s': tokens / median, 'peaks': peaks}))


if __name__ == '__main__':
    main()
