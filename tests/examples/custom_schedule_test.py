"""A schedule plugin in C, built with the installed headers alone, and the same order as a file."""
import json
import os

from example import Example, Installed, SOURCE, main

WAVES = "F0.0 F0.1 B0.0 B0.1 F0.2 F0.3 B0.2 B0.3"


class CustomSchedule(Example):
    @classmethod
    def setUpClass(cls):
        installed = Installed(cls, "custom_schedule")
        installed.run("make", "-C", installed.example)
        cls.config = installed.file("custom_schedule.toml")

    def order(self, *sets):
        """What the first device does."""
        return " ".join(f"{kind}{stage}.{i}" for kind, stage, i in self.plan(self.config, *sets)["devices"][0]["program"])

    def test_it_goes_in_waves(self):
        self.assertEqual(self.order(), WAVES)
        self.assertEqual(self.order("schedule.waves.size=4"), self.order("schedule.type=gpipe"))
        self.assertIn("waves", self.switchyard("plan", self.config).stdout)

    def test_it_runs_over_any_map(self):
        dealt = self.plan(self.config, "placement.policy=round_robin", 'devices.use=["cpu:0", "cpu:1", "cpu:2"]')
        self.assertGreater(len(dealt["stages"]), 3)

    def test_swapping_it_changes_the_plan_and_no_loss(self):
        short = ("train.steps=2", "data.validation=0", "generate.tokens=8", "data.text=" + os.path.join(SOURCE, "LICENSE"))
        self.assertNotEqual(self.order("schedule.type=1f1b"), WAVES)
        self.assertEqual(self.losses(self.config, *short), self.losses(self.config, *short, "schedule.type=1f1b"))

    def test_a_sweep_compares_it_with_the_others(self):
        trials = json.loads(self.switchyard("plan", self.config, more=("--sweep", "--json", "-")).stdout)
        self.assertTrue({"waves"} < {trial["schedule"] for trial in trials if trial["fits"]})

    def test_its_options_are_checked(self):
        self.assertIn("size", self.error("plan", self.config, "schedule.waves.size=0"))
        self.assertIn("did you mean 'size'", self.error("plan", self.config, "schedule.waves.sizes=2"))

    def test_its_order_as_a_file(self):
        text = os.path.join(self.folder, "order.txt")
        self.switchyard("plan", self.config, more=("--schedule", text))
        self.assertEqual(self.order("schedule.type=file", "schedule.file=" + text), WAVES)
        with open(text) as file:
            missing = file.read().replace(" B0.3", "")
        with open(text, "w") as file:
            file.write(missing)
        error = self.error("plan", self.config, "schedule.type=file", "schedule.file=" + text)
        self.assertIn("device cpu:0, action 7: B of stage 0, micro-batch 3 is missing", error)


main()
