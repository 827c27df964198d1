"""A layer type that lives in a program in Rust."""
import array
import os
import shutil
import subprocess
import sys

from example import BUILD, SOURCE, Example, Installed, main, path_of

os.environ["SWITCHYARD_LIBRARY"] = os.path.join(BUILD, "core", "libswitchyard.so.1")
sys.path.insert(0, os.path.join(SOURCE, "abi", "python"))
from switchyard import Runtime

BATCH = 64


def batches():
    """What the program draws."""
    state = 1

    def uniform():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) / 2147483648.0

    while True:
        points, within = array.array("f"), array.array("q")
        for _ in range(BATCH):
            x, y = 2 * uniform() - 1, 2 * uniform() - 1
            points.extend((x, y))
            within.append(x * x + y * y < 0.6)
        yield memoryview(points).cast("B").cast("f", [BATCH, 2]), within


class LayerInRust(Example):
    @classmethod
    def setUpClass(cls):
        cls.program = os.path.join(BUILD, "tests", "examples", "circle")
        os.makedirs(os.path.dirname(cls.program), exist_ok=True)
        command = ["rustc", "--edition", "2021", "-O", "-D", "warnings", "-L", os.path.join(BUILD, "core"), "-o", cls.program,
                   path_of("layer_in_rust", "main.rs")]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0, done.stderr
        cls.config = path_of("layer_in_rust", "circle.toml")

    def run_circle(self, *arguments, expected=0):
        environment = dict(os.environ, LD_LIBRARY_PATH=os.path.join(BUILD, "core"))
        return self.run_command(self.program, self.config, *arguments, expected=expected, env=environment)

    def circle_losses(self, *arguments):
        return [float(line) for line in self.run_circle(*arguments).stdout.split()]

    def test_the_same_layer_in_cpp_gives_the_same_losses(self):
        installed = Installed(type(self), "custom_layer")
        installed.run("make", "-C", installed.example, "sy-layer-channel_scale.so")
        losses = self.circle_losses()
        self.assertLess(losses[-1], 0.5 * losses[0])
        with Runtime(self.config, ["layer.scale.type=channel_scale"]) as runtime:
            runtime.load(installed.file("sy-layer-channel_scale.so"))
            with runtime.plan().build() as pipe:
                self.assertEqual([pipe.step(*batch).loss for _, batch in zip(losses, batches())], losses)

    def test_any_plan_gives_the_same_losses_and_an_option_gives_others(self):
        losses = self.circle_losses()
        self.assertEqual(len(losses), 100)
        for same in 'devices.use=["cpu:0"]', "train.recompute=true", "placement.policy=round_robin":
            self.assertEqual(self.circle_losses(same), losses)
        self.assertNotEqual(self.circle_losses("layer.scale.start=2.0"), losses)

    def test_its_errors_are_told(self):
        self.assertIn("precision.keep_fp32", self.run_circle("precision.type=bf16", expected=1).stderr)
        self.assertIn("did you mean 'start'", self.run_circle("layer.scale.stard=2.0", expected=1).stderr)
        short = self.run_circle('devices.memory=["1GiB", "1KiB"]', expected=1).stderr
        self.assertIn("cpu:1", short)


if not shutil.which("rustc"):
    print("[skipped] rustc is missing: .ci/setup --clients")
    sys.exit(77)
main()
