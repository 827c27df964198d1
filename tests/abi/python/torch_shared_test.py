"""A module over LibTorch's layers, on the device on which the caller has a model of its own. Wants torch of the plugins' version."""
import sys
import unittest

from interpreter import need

need("torch")
import torch

import switchyard.torch

CONFIG = """
seed = 3
[model]
input = { shape = [4] }
[[layer]]
type = "mlp"
name = "body"
widths = [16, 3]
[[layer]]
type = "cross_entropy"
name = "loss"
[devices]
use = ["DEVICE", "cpu:1"]
threads = 1
[placement]
policy = "contiguous"
[schedule]
micro_batches = 2
[train]
batch = 6
optimizer = { type = "sgd", lr = 0.1 }
"""


def batch(seed):
    drawn = torch.Generator().manual_seed(seed)
    return torch.randn(6, 4, generator=drawn), torch.randint(3, (6,), generator=drawn)


class Shared(unittest.TestCase):
    """A pipe of LibTorch's layers on the device on which the caller has a model of its own."""

    def losses(self, device, beside):
        module = switchyard.torch.Module(text=CONFIG.replace("DEVICE", device)).to(device)
        self.addCleanup(module.close)
        own = torch.nn.Sequential(torch.nn.Linear(4, 512), torch.nn.Linear(512, 3)).to(device)
        optimizer = torch.optim.SGD([*module.parameters(), *own.parameters()], lr=0.1)
        losses = []
        for step in range(10):
            inputs, targets = (t.to(device) for t in batch(step))
            optimizer.zero_grad()
            loss = module(inputs, targets)
            if beside:  # its work is in flight while the pipe computes
                loss = loss + torch.nn.functional.cross_entropy(own(inputs), targets).to(loss.device) * 0.5
            loss.backward()
            optimizer.step()
            losses.append(module.eval()(inputs, targets).item())
            module.train()
        return losses

    def test_work_of_the_callers_own_on_the_same_device_changes_nothing(self):
        for device in ["cpu:0"] + ["cuda:0"] * torch.cuda.is_available():
            losses = self.losses(device, beside=False)
            self.assertLess(losses[-1], losses[0])
            self.assertEqual(self.losses(device, beside=True), losses)


if __name__ == "__main__":
    if not torch.__version__.startswith("2.11."):
        print("[skipped] the layers want LibTorch 2.11; torch is " + torch.__version__)
        sys.exit(77)
    unittest.main()
