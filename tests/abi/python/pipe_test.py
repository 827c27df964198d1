"""Plans and pipes from Python, without numpy."""
import array
import gc
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import switchyard
from switchyard import Code, Error, Kind, Runtime

from models import POINTS, points, shaped


def losses(pipe, steps):
    return [pipe.step(*points(seed)).loss for seed in range(steps)]


class Plans(unittest.TestCase):
    def test_a_plan_tells_itself(self):
        with Runtime(text=POINTS) as runtime, runtime.plan() as plan:
            self.assertIn("2 devices; contiguous", str(plan))
            self.assertEqual(plan.devices(), ["cpu:0", "cpu:1"])
            self.assertEqual(len(plan.layers()), 5)
            self.assertEqual([plan.device_of_stage()[s] for s in plan.stage_of_layer()][0], 0)
            self.assertEqual([d["name"] for d in plan.json()["devices"]], ["cpu:0", "cpu:1"])
            self.assertIn("<html", plan.html())

    def test_sets_change_it(self):
        with Runtime(text=POINTS, sets=['devices.use=["cpu:0"]']) as runtime, runtime.plan() as plan:
            self.assertEqual(plan.devices(), ["cpu:0"])

    def test_mistakes_have_code_and_text(self):
        with self.assertRaises(Error) as caught:
            Runtime(text=POINTS, sets=["train.batsh=3"])
        self.assertEqual(caught.exception.code, Code.CONFIG)
        self.assertIn("did you mean 'batch'", str(caught.exception))

    def test_plugins_devices_and_options_are_told(self):
        with Runtime() as runtime:
            self.assertIn("sgd", runtime.describe()["optimizers"])
            self.assertEqual(runtime.describe("plain_linear")[0]["kind"], "layer")
            self.assertIn("cpu", [b["name"] for b in runtime.devices()["backends"]])
            self.assertTrue(any(p["state"] == "loaded" for p in runtime.plugins()["plugins"]))


class Pipes(unittest.TestCase):
    def setUp(self):
        self.runtime = Runtime(text=POINTS)
        self.addCleanup(self.runtime.close)
        self.plan = self.runtime.plan()
        self.pipe = self.plan.build()

    def test_steps_learn_and_evaluations_change_nothing(self):
        result = self.pipe.step(*points(0))
        self.assertEqual((result.step, result.valid, result.skipped), (1, 6, False))
        self.assertAlmostEqual(result.lr, 0.1)
        self.assertGreater(result.grad_norm, 0)
        evaluation = self.pipe.evaluate(*points(0))
        self.assertIsNone(evaluation.grad_norm)
        self.assertLess(evaluation.loss, result.loss)
        self.assertEqual(self.pipe.evaluate(*points(0)).loss, evaluation.loss)
        self.pipe.step(*points(0))
        self.assertAlmostEqual(sum(self.pipe.micro_losses()) / 6, self.pipe.step(*points(0)).loss, delta=0.3)
        self.assertEqual(len(self.pipe.micro_losses()), 2)

    def test_parameters_are_read_written_and_told(self):
        names = [p.name for p in self.pipe.parameters]
        self.assertIn("a.weight", names)
        weight = self.pipe.parameter("a.weight")
        self.assertEqual((weight.kind, weight.shape, weight.dtype, weight.trainable), (Kind.WEIGHT, (8, 4), "float32", True))
        self.assertEqual(self.pipe.parameter(weight.index), weight)
        new = array.array("f", range(32))
        self.pipe.write("a.weight", shaped(new, 8, 4))
        self.assertEqual(self.pipe.read("a.weight").tolist()[1], [4, 5, 6, 7])
        with self.assertRaisesRegex(ValueError, r"float32 of shape \(8, 4\)"):
            self.pipe.write("a.weight", new)
        with self.assertRaises(Error) as caught:
            self.pipe.parameter("a.wait")
        self.assertEqual(caught.exception.code, Code.NOT_FOUND)

    def test_a_gradient_is_the_step_that_sgd_takes(self):
        before = self.pipe.read("b.bias").tolist()
        self.pipe.step(*points(0))
        gradient, after = self.pipe.gradient("b.bias").tolist(), self.pipe.read("b.bias").tolist()
        for b, g, a in zip(before, gradient, after):
            self.assertAlmostEqual(b - 0.1 * g, a, places=6)
        self.assertTrue(any(gradient))

    def test_a_saved_pipe_goes_on_in_another_as_if_nothing_had_been(self):
        losses(self.pipe, 3)
        with tempfile.TemporaryDirectory() as folder:
            self.pipe.save(folder)
            with Runtime(text=POINTS, sets=['devices.use=["cpu:0"]']) as runtime, runtime.plan().build() as other:
                other.load(folder)
                self.assertEqual(losses(other, 3), losses(self.pipe, 3))

    def test_a_failing_batch_says_where_and_changes_nothing(self):
        inputs, targets = points(0)
        before = self.pipe.evaluate(inputs, targets).loss
        with self.assertRaises(Error) as caught:
            self.pipe.step(inputs, array.array("q", [0, 1, 2, 0, 1, 7]))
        self.assertEqual(caught.exception.code, Code.DATA)
        with self.assertRaisesRegex(TypeError, "list is no tensor: give an array"):
            self.pipe.step([[1.0]], targets)
        self.assertEqual(self.pipe.evaluate(inputs, targets).loss, before)

    def test_facts_of_an_error_are_notes(self):
        faulty = POINTS.replace('[[layer]]', '[[layer]]\ntype = "faulty"\nname = "f"\nfault = "throw"\nstep = 1\n[[layer]]', 1)
        with Runtime(text=faulty) as runtime, runtime.plan().build() as pipe:
            with self.assertRaises(Error) as caught:
                pipe.step(*points(0))
        error = caught.exception
        self.assertEqual((error.notes["layer"], error.notes["device"], error.notes["phase"]), ("f", "cpu:0", "running"))
        self.assertIn("layer: f", error.__notes__)

    def test_what_is_closed_says_so_and_closing_twice_is_fine(self):
        self.pipe.close()
        self.pipe.close()
        with self.assertRaises(Error) as caught:
            self.pipe.step(*points(0))
        self.assertEqual((caught.exception.code, str(caught.exception)), (Code.STATE, "the pipe is closed"))
        self.runtime.close()
        self.assertTrue(self.runtime.closed)
        self.plan.close()  # children after their parents

    def test_results_outlive_their_pipe(self):
        scores = self.pipe.forward(points(0)[0])
        expected = scores.tolist()
        self.pipe.close()
        del self.pipe
        gc.collect()
        self.assertEqual(scores.tolist(), expected)
        self.assertEqual(scores.shape, (6, 3))

    def test_threads_take_turns(self):
        expected = losses(self.pipe, 1)
        other = self.plan.build()
        self.assertEqual(losses(other, 1), expected)
        seen = []
        threads = [threading.Thread(target=lambda: seen.extend(losses(self.pipe, 5))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(seen), 20)
        self.assertEqual(self.pipe.step(*points(0)).step, 22)

    def test_a_step_is_cancelled_from_another_thread(self):
        slow = POINTS.replace('[[layer]]', '[[layer]]\ntype = "faulty"\nname = "f"\nfault = "slow"\nstep = 1\n[[layer]]', 1)
        with Runtime(text=slow) as runtime, runtime.plan().build() as pipe:
            threading.Timer(0.1, pipe.cancel).start()
            with self.assertRaises(Error) as caught:
                pipe.step(*points(0))
            self.assertEqual(caught.exception.code, Code.CANCELLED)
            self.assertEqual(pipe.step(*points(0)).step, 1)

    def test_peaks(self):
        losses(self.pipe, 1)
        self.assertEqual([p.device for p in self.pipe.peaks()], ["cpu:0", "cpu:1"])
        self.assertTrue(all(p.measured > 0 for p in self.pipe.peaks()))


class Library(unittest.TestCase):
    def test_a_relative_path_finds_library_and_plugins(self):
        path = os.path.relpath(os.environ["SWITCHYARD_LIBRARY"])
        environment = dict(os.environ, SWITCHYARD_LIBRARY=path)
        program = ("import ctypes, os, sys; sys.modules['switchyard'] = None; "
                   "sy = ctypes.CDLL(os.environ['SWITCHYARD_LIBRARY']); r = ctypes.c_void_p(); t = ctypes.c_char_p(); "
                   "assert sy.sy_runtime_open(None, ctypes.byref(r), None) == 0; "
                   "assert sy.sy_describe(r, None, ctypes.byref(t), None) == 0; print(t.value.decode())")
        told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        self.assertIn('"sgd"', told.stdout, told.stderr)

    def test_a_missing_library_is_an_import_error_that_says_what_to_do(self):
        environment = dict(os.environ, SWITCHYARD_LIBRARY="/nowhere/libswitchyard.so.1")
        told = subprocess.run([sys.executable, "-c", "import switchyard"], env=environment, capture_output=True, text=True)
        self.assertRegex(told.stderr, "ImportError: /nowhere/.*name the library in SWITCHYARD_LIBRARY")

    def test_version(self):
        self.assertRegex(switchyard.version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
