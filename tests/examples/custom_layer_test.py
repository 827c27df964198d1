"""A layer plugin built with the installed headers alone."""
import ctypes
import os
import random
import sys

from example import BUILD, Example, Installed, losses_of, main, path_of

# The example in Python has the structs of switchyard.h; it opens the library that was built.
os.environ["SWITCHYARD_LIBRARY"] = os.path.join(BUILD, "core", "libswitchyard.so.1")
sys.path.insert(0, os.path.dirname(path_of("call_from_python")))
from sentence import CPU, Device, DType, INT, RuntimeOptions, StepResult, View, call, sy

FLOAT = 2
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
        pipe = Pipe(self.config, [TABLE, "train.optimizer.lr=0.0", "train.clip_norm=0.0"])
        self.addCleanup(pipe.close)
        pipe.step()
        for name in "scale.gain", "layer1.bias":  # the second one through the gradient of our input
            gradient, h = pipe.gradient(name), 1e-2
            for i in range(4):
                values = pipe.read(name)
                sides = []
                for side in (h, -h):
                    moved = list(values)
                    moved[i] += side
                    pipe.write(name, moved)
                    sides.append(pipe.loss())
                pipe.write(name, values)
                self.assertAlmostEqual(gradient[i], (sides[0] - sides[1]) / (2 * h), delta=1e-4)


class Pipe:
    """A pipe over the built library, with one batch of its own."""

    def __init__(self, config, sets):
        self.runtime, self.plan, self.pipe = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        texts = (ctypes.c_char_p * len(sets))(*(s.encode() for s in sets))
        options = RuntimeOptions(ctypes.sizeof(RuntimeOptions), len(sets), config.encode(), sets=texts)
        call("sy_runtime_open", ctypes.byref(options), ctypes.byref(self.runtime))
        call("sy_plan_make", self.runtime, ctypes.byref(self.plan))
        call("sy_pipe_build", self.plan, ctypes.byref(self.pipe))
        rng = random.Random(1)
        self.numbers = (ctypes.c_float * (SAMPLES * WIDTH))(*(rng.gauss(0, 1) for _ in range(SAMPLES * WIDTH)))
        self.classes = (ctypes.c_int64 * SAMPLES)(*(rng.randrange(3) for _ in range(SAMPLES)))

    def run(self, name):
        shape, strides, one = (ctypes.c_int64 * 2)(SAMPLES, WIDTH), (ctypes.c_int64 * 2)(WIDTH, 1), (ctypes.c_int64 * 1)(1)
        host = Device(CPU, 0)
        inputs = View(ctypes.cast(self.numbers, ctypes.c_void_p), host, 2, DType(FLOAT, 32, 1), shape, strides, 0)
        targets = View(ctypes.cast(self.classes, ctypes.c_void_p), host, 1, DType(INT, 64, 1), shape, one, 0)
        result = StepResult(ctypes.sizeof(StepResult))
        call(name, self.pipe, ctypes.byref(inputs), ctypes.byref(targets), ctypes.byref(result))
        return result.loss

    def step(self):
        return self.run("sy_pipe_step")

    def loss(self):
        return self.run("sy_pipe_evaluate")

    def find(self, name):
        index = ctypes.c_uint32()
        call("sy_pipe_find", self.pipe, name.encode(), ctypes.byref(index))
        return index

    def read(self, name):
        values = (ctypes.c_float * 32)()
        call("sy_pipe_read", self.pipe, self.find(name), values, ctypes.c_uint64(ctypes.sizeof(values)))
        return list(values)

    def write(self, name, numbers):
        values = (ctypes.c_float * 32)(*numbers)
        call("sy_pipe_write", self.pipe, self.find(name), values, ctypes.c_uint64(ctypes.sizeof(values)))

    def gradient(self, name):
        values = (ctypes.c_float * 32)()
        call("sy_pipe_read_gradient", self.pipe, self.find(name), values, ctypes.c_uint64(32))
        return list(values)

    def close(self):
        sy.sy_pipe_close(self.pipe)
        sy.sy_plan_free(self.plan)
        sy.sy_runtime_close(self.runtime)


main()
