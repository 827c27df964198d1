"""Policies in Python."""
import ctypes
import threading
import unittest

from switchyard import Code, Error, Level, Runtime, log_to
from switchyard.plugin import Option, Placement, Plugin, Policy

from models import POINTS, points


class Seen(Policy):
    id = "seen"
    help = "the first layers here, the others there"
    options = [Option("cut", 1, "layers on the first device", 1, 4), Option("word", "some", "what for", choices=["some", "other"]),
               Option("share", 0.5, "of one", 0, 1), Option("loud", False, "says more")]
    problems = []

    def place(self, problem):
        self.problems.append((self.__dict__.copy(), problem))
        n = len(problem.layers)
        stages = [0 if i < self.cut else 1 for i in range(n)]
        answer = Placement(stages, [1, 0], why=f"cut after {self.cut}")
        self.problems[-1] += (problem.evaluate(answer), problem.link(0, 1), problem.seconds(0, 0), problem.match("a"))
        return answer


class Raises(Policy):
    id = "raises"

    def place(self, problem):
        raise ZeroDivisionError("by nothing")


class Refuses(Policy):
    id = "refuses"

    def place(self, problem):
        raise Error(Code.INFEASIBLE, "nothing fits here")


class Wrong(Policy):
    id = "wrong"

    def place(self, problem):
        return Placement([0] * (len(problem.layers) - 1), [0])


class Asks(Policy):
    id = "asks"

    def place(self, problem):
        problem.evaluate(Placement([5] * len(problem.layers), [0]))


PLUGIN = Plugin("test.python.policies", [Seen, Raises, Refuses, Wrong, Asks])


class Policies(unittest.TestCase):
    def runtime(self, policy, *sets):
        runtime = Runtime(text=POINTS, sets=[f"placement.policy={policy}", *sets])
        self.addCleanup(runtime.close)
        runtime.register(PLUGIN)
        return runtime

    def test_its_answer_is_the_plan_and_the_losses_stay(self):
        plan = self.runtime("seen", "placement.seen.cut=2", "placement.seen.loud=true").plan()
        self.assertEqual((plan.stage_of_layer(), plan.device_of_stage()), ([0, 0, 1, 1, 1], [1, 0]))
        self.assertIn("cut after 2", str(plan))
        with plan.build() as pipe, Runtime(text=POINTS) as runtime, runtime.plan().build() as other:
            self.assertEqual([pipe.step(*points(i)).loss for i in range(3)], [other.step(*points(i)).loss for i in range(3)])

    def test_it_sees_layers_devices_and_options(self):
        self.runtime("seen", "placement.seen.share=0.25", 'devices.memory=["1GiB", "2GiB"]').plan()
        options, problem, evaluation, link, seconds, hit = Seen.problems[-1]
        self.assertEqual(options, {"cut": 1, "word": "some", "share": 0.25, "loud": False})
        self.assertEqual([layer.type for layer in problem.layers][:2], ["plain_linear", "plain_batchnorm"])
        self.assertEqual(problem.layers[1].inputs, (0,))
        self.assertGreaterEqual(problem.layers[0].bytes_weights, 4 * (4 * 8 + 8))
        self.assertEqual([d.budget for d in problem.devices], [2**30, 2**31])
        self.assertEqual(problem.micro_batches, 2)
        self.assertIsNone(evaluation.misfit_layer)
        self.assertGreater(evaluation.step_s, 0)
        self.assertTrue(all(p > 0 for p in evaluation.peak_bytes))
        self.assertGreater(link[0], 0)
        self.assertGreater(seconds[0], 0)
        self.assertEqual(hit, [0])

    def test_options_are_published_and_checked(self):
        described = self.runtime("seen").describe("seen")[0]
        self.assertEqual((described["help"], [o["key"] for o in described["options"]]),
                         (Seen.help, ["cut", "word", "share", "loud"]))
        for wrong in "placement.seen.cut=9", "placement.seen.cutt=1", "placement.seen.word=none":
            with self.assertRaises(Error) as caught:
                self.runtime("seen", wrong).plan()
            self.assertEqual(caught.exception.code, Code.CONFIG)

    def test_what_it_raises_is_the_error_of_the_plan(self):
        for policy, code, text in (("raises", Code.CONFIG, "ZeroDivisionError: by nothing"),
                                   ("refuses", Code.INFEASIBLE, "nothing fits here"),
                                   ("wrong", Code.CONFIG, "4 layers and 1 stages for 5 layers"),
                                   ("asks", Code.CONFIG, "stage")):
            with self.assertRaises(Error) as caught:
                self.runtime(policy).plan()
            self.assertIn(text, str(caught.exception))
            self.assertEqual(caught.exception.code, code, policy)

    def test_what_a_plugin_logs_goes_where_told(self):
        self.runtime("seen").plan()
        host = PLUGIN._tables[0].host.contents
        log = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_int32, *[ctypes.c_char_p] * 2)(host.log)
        lines = []
        log_to(lambda *line: lines.append(line))
        self.addCleanup(log_to, None)
        threads = [threading.Thread(target=log, args=(host.self_, None, 2, b"here", b"line %d" % i)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(lines), [(Level.INFO, "here", f"line {i}") for i in range(8)])

    def test_twice_is_fine_and_another_of_the_same_id_is_not(self):
        runtime = self.runtime("seen")
        runtime.register(PLUGIN)
        with self.assertRaises(Error) as caught:
            runtime.register(Plugin("test.python.policies", [Raises]))
        self.assertEqual(caught.exception.code, Code.EXISTS)


if __name__ == "__main__":
    unittest.main()
