"""A layer plugin built with the installed headers alone."""
import array
import os
import random
import sys

from example import BUILD, SOURCE, Example, Installed, losses_of, main, path_of

os.environ["SWITCHYARD_LIBRARY"] = os.path.join(BUILD, "core", "libswitchyard.so.1")
sys.path.insert(0, os.path.join(SOURCE, "abi", "python"))
from switchyard import Runtime

SAMPLES, WIDTH = 30, 4
TABLE = "data.table=" + path_of("model_parallel_mlp", "fruit.csv")


class CustomLayer(Example):
    @classmethod
    def setUpClass(cls):
        cls.installed = Installed(cls, "custom_layer")
        # LibTorch was not installed below the folder; with a sysroot, pkg-config looks for it there.
        folder = cls.installed.folder
        torch = cls.installed.run("pkg-config", "--variable=torchdir", "switchyard_torch").strip().removeprefix(folder)
        os.makedirs(os.path.dirname(folder + torch))
        os.symlink(torch, folder + torch)
        cls.installed.run("make", "-C", cls.installed.example, "sy-layer-channel_scale.so", "sy-layer-torch_scale.so")
        cls.config = cls.installed.file("custom_layer.toml")

    def installed_losses(self, name, *sets):
        run = os.path.join(self.folder, name)
        words = [w for s in (TABLE, "train.steps=3", "train.report_every=1", *sets) for w in ("--set", s)]
        self.installed.run(self.installed.program, "train", self.config, *words, "--out", run)
        return losses_of(run)

    def test_it_trains_in_an_installed_tree_with_any_plan(self):
        expected = self.installed_losses("two")
        self.assertEqual(self.installed_losses("one", 'devices.use=["cpu:0"]'), expected)
        self.assertEqual(self.installed_losses("recomputed", "train.recompute=true", "schedule.type=gpipe"), expected)
        self.assertNotEqual(self.installed_losses("other", "layer.scale.start=2.0"), expected)

    def test_the_same_layer_of_libtorch_operators_gives_the_same_losses(self):
        path = self.installed.file("sy-layer-torch_scale.so")
        torch = f'plugins.load=["{path}"]', "layer.scale.type=torch_scale"
        expected = [float(x) for x in self.installed_losses("by_hand")]
        losses = [float(x) for x in self.installed_losses("torch", *torch)]
        for ours, theirs in zip(losses, expected, strict=True):
            self.assertAlmostEqual(ours, theirs, delta=1e-5)
        self.assertNotEqual(self.installed_losses("other", *torch, "layer.scale.start=2.0")[0], expected[0])

    def test_its_option_is_checked(self):
        plugins = self.switchyard("plugins", self.config, TABLE).stdout
        self.assertIn("layer channel_scale", plugins)
        self.assertIn("did you mean 'start'", self.error("plan", self.config, TABLE, "layer.scale.stard=1.0"))

    def test_half_precision_says_what_to_do(self):
        self.assertIn("precision.keep_fp32", self.error("plan", self.config, TABLE, "precision.type=bf16"))
        self.plan(self.config, TABLE, "precision.type=bf16", "precision.keep_fp32=scale")

    def test_its_backward_is_the_derivative_of_its_forward(self):
        rng = random.Random(1)
        numbers = memoryview(array.array("f", (rng.gauss(0, 1) for _ in range(SAMPLES * WIDTH)))).cast("B")
        batch = numbers.cast("f", [SAMPLES, WIDTH]), array.array("q", (rng.randrange(3) for _ in range(SAMPLES)))
        runtime = Runtime(self.config, [TABLE, "train.optimizer.lr=0.0", "train.clip_norm=0.0"])
        pipe = runtime.plan().build()
        pipe.step(*batch)
        for name in "scale.gain", "layer1.bias":  # the second one through the gradient of our input
            gradient, values, h = pipe.gradient(name).tolist(), pipe.read(name).tolist(), 1e-2
            for i in range(4):
                sides = []
                for side in (h, -h):
                    moved = array.array("f", values)
                    moved[i] += side
                    pipe.write(name, moved)
                    sides.append(pipe.evaluate(*batch).loss)
                pipe.write(name, array.array("f", values))
                self.assertAlmostEqual(gradient[i], (sides[0] - sides[1]) / (2 * h), delta=1e-4)


main()
