"""A pipe as a module of torch, and the LibTorch that torch brings along."""
import os
import subprocess
import sys
import unittest

from interpreter import need

need("torch")
import torch

import switchyard
import switchyard.torch

from models import POINTS


def batch(seed):
    drawn = torch.Generator().manual_seed(seed)
    return torch.randn(6, 4, generator=drawn), torch.randint(3, (6,), generator=drawn)


class Twin(torch.nn.Module):
    """The model of POINTS in torch, for micro-batches of three."""

    def __init__(self, state):
        super().__init__()
        self.a, self.norm, self.b = torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3)
        named = {name.removeprefix("layers."): value for name, value in state.items()}
        self.load_state_dict({name: named[name] for name in ("a.weight", "a.bias", "norm.weight", "norm.bias", "b.weight", "b.bias")},
                             strict=False)

    def forward(self, inputs, targets):
        losses = [torch.nn.functional.cross_entropy(self.b(torch.tanh(self.norm(self.a(x)))), y)
                  for x, y in zip(inputs.split(3), targets.split(3))]
        return sum(losses) / len(losses)


class Module(unittest.TestCase):
    def setUp(self):
        self.module = switchyard.torch.Module(text=POINTS)
        self.addCleanup(self.module.close)

    def test_an_existing_loop_trains_it_as_it_trains_a_model_of_torch(self):
        twin = Twin(self.module.state_dict())
        pairs = [(m, torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)) for m in (self.module, twin)]
        for step in range(5):
            losses = []
            for model, optimizer in pairs:
                optimizer.zero_grad()
                loss = model(*batch(step))
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            self.assertAlmostEqual(*losses, places=5)
        for name, value in twin.named_parameters():
            self.assertTrue(torch.allclose(self.module.state_dict()["layers." + name], value, atol=1e-5), name)

    def test_gradients_add_up_and_follow_what_comes_after_the_loss(self):
        self.module(*batch(0)).backward()
        once = [p.grad.clone() for p in self.module.parameters()]
        self.module.zero_grad()
        first, second = self.module(*batch(0)), self.module(*batch(0))
        (0.5 * first + 2 * second).backward()  # the gradients of the first pass were not lost
        for p, g in zip(self.module.parameters(), once):
            self.assertTrue(torch.allclose(p.grad, 2.5 * g))
        self.assertTrue(any(g.abs().max() > 0 for g in once))

    def test_a_forward_pass_alone_changes_no_weight(self):
        before = {name: value.clone() for name, value in self.module.named_parameters()}
        self.module(*batch(0))
        self.module(*batch(1)).backward()
        for name, value in before.items():
            self.assertTrue(torch.equal(self.module.pipe.read(name.removeprefix("layers.")).torch(), value))

    def test_its_own_optimizer_is_not_needed_for_the_loss_of_the_pipe(self):
        with switchyard.Runtime(text=POINTS) as runtime, runtime.plan().build() as pipe:
            optimizer = torch.optim.SGD(self.module.parameters(), lr=0.1)
            for step in range(3):
                optimizer.zero_grad()
                loss = self.module(*batch(step))
                loss.backward()
                optimizer.step()
                self.assertAlmostEqual(loss.item(), pipe.step(*batch(step)).loss, places=6)

    def test_evaluation_and_predictions_have_no_gradients(self):
        self.module.eval()
        inputs, targets = batch(0)
        loss, scores = self.module(inputs, targets), self.module(inputs)
        self.assertFalse(loss.requires_grad or scores.requires_grad)
        self.assertAlmostEqual(torch.nn.functional.cross_entropy(scores, targets).item(), loss.item(), places=5)
        self.module.train()
        with torch.no_grad():
            self.assertFalse(self.module(inputs, targets).requires_grad)

    def test_running_statistics_are_buffers(self):
        buffers = dict(self.module.named_buffers())
        name = next(n for n in buffers if "mean" in n)
        before = buffers[name].clone()
        self.module(*batch(0))
        self.assertFalse(torch.equal(dict(self.module.named_buffers())[name], before))

    def test_a_state_dict_moves_to_another_module(self):
        optimizer = torch.optim.SGD(self.module.parameters(), lr=0.1)
        self.module(*batch(0)).backward()
        optimizer.step()
        other = switchyard.torch.Module(text=POINTS, sets=['devices.use=["cpu:0"]'])
        self.addCleanup(other.close)
        other.load_state_dict(self.module.state_dict())
        self.module.eval(), other.eval()
        self.assertTrue(torch.equal(other(batch(1)[0]), self.module(batch(1)[0])))

    def test_gradients_of_inputs_are_refused(self):
        inputs, targets = batch(0)
        with self.assertRaisesRegex(switchyard.Error, "gives no gradients of its inputs"):
            self.module(inputs.requires_grad_(), targets)


class LibTorch(unittest.TestCase):
    """The plugins of LibTorch operators in a process that has torch already."""

    def test_it_is_used_when_it_is_theirs_and_refused_otherwise(self):
        plugin = os.path.join(os.environ["SWITCHYARD_BUILD"], "plugins", "sy-layer-dense.so")
        if not os.path.exists(plugin):
            print("[skipped] built without LibTorch")
            return
        program = (f"import torch, switchyard; switchyard.Runtime().load({plugin!r}); "
                   "print(len({line.split()[-1] for line in open('/proc/self/maps') if 'libtorch_cpu.so' in line}))")
        told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        own = ".".join(torch.__version__.split(".")[:2])
        if own == "2.11":
            self.assertEqual(told.stdout, "1\n", told.stderr)
        else:
            self.assertIn("was built against LibTorch 2.11, but LibTorch " + own + " is in this process already", told.stderr)


if __name__ == "__main__":
    unittest.main()
