"""A policy that lives in a program in Python."""
import os
import sys

from example import BUILD, SOURCE, Example, main, path_of

os.environ["SWITCHYARD_LIBRARY"] = os.path.join(BUILD, "core", "libswitchyard.so.1")
sys.path[:0] = [os.path.join(SOURCE, "abi", "python"), os.path.dirname(path_of("policy_in_python"))]
from even_time import PLUGIN, neighbours
from switchyard import Error, Runtime

CONFIG = path_of("policy_in_python")


class PolicyInPython(Example):
    def plan_of(self, *sets):
        runtime = Runtime(CONFIG, sets)
        self.addCleanup(runtime.close)
        runtime.register(PLUGIN)
        return runtime.plan()

    def program_losses(self, *sets):
        environment = dict(os.environ, PYTHONPATH=os.path.join(SOURCE, "abi", "python"))
        said = self.run_command(sys.executable, path_of("policy_in_python", "even_time.py"), CONFIG, "train.steps=5", *sets,
                                env=environment).stdout
        return said, [line for line in said.splitlines() if line.startswith("step 5 ")]

    def test_swapping_it_changes_no_loss(self):
        said, losses = self.program_losses()
        self.assertIn("placements judged", said)
        self.assertEqual(len(losses), 1)
        said, same = self.program_losses("placement.policy=round_robin")
        self.assertIn("round_robin", said)
        self.assertEqual(same, losses)

    def test_no_cut_beside_its_own_is_faster(self):
        for devices in '["cpu:0", "cpu:1"]', '["cpu:0", "cpu:1", "cpu:2"]':
            stages = self.plan_of("devices.use=" + devices).stage_of_layer()
            seconds = self.plan_of("devices.use=" + devices).json()["prediction"]["step_s"]
            ends = [stages.index(s) for s in range(1, max(stages) + 1)] + [len(stages)]
            others = []
            for moved in neighbours(ends):
                layers = [sum(i >= end for end in moved) for i in range(len(stages))]
                runs = "[" + ", ".join(str(layers.count(s)) for s in range(len(moved))) + "]"
                others.append(self.plan_of("devices.use=" + devices, "placement.policy=contiguous",
                                           "placement.contiguous.counts=" + runs).json()["prediction"]["step_s"])
            self.assertGreaterEqual(len(others), 2)
            self.assertLessEqual(seconds, min(others))

    def test_a_budget_moves_its_cuts(self):
        free = self.plan_of().stage_of_layer()
        tight = self.plan_of('devices.memory=["1400KiB", "1GiB"]').stage_of_layer()
        self.assertLess(tight.count(0), free.count(0))
        with self.assertRaisesRegex(Error, "no cut that was tried fits"):
            self.plan_of('devices.memory=["100KiB", "100KiB"]')


main()
