"""A policy plugin in C, built with the installed headers alone."""
import json
import os

from example import Example, Installed, SOURCE, main


class CustomPolicy(Example):
    @classmethod
    def setUpClass(cls):
        installed = Installed(cls, "custom_policy")
        installed.run("make", "-C", installed.example)
        cls.config = installed.file("custom_policy.toml")

    def dealt(self, *sets):
        return "".join(device[-1] for device in self.devices(self.config, *sets).values())

    def test_it_deals_to_and_fro(self):
        self.assertEqual(self.dealt(), "01100110")
        self.assertEqual(self.dealt("placement.snake.run=2"), "00111100")
        self.assertEqual(self.dealt('devices.use=["cpu:0", "cpu:1", "cpu:2"]'), "01221001")

    def test_swapping_it_changes_the_plan_and_no_loss(self):
        short = ("train.steps=2", "data.validation=0", "generate.tokens=8", "data.text=" + os.path.join(SOURCE, "LICENSE"))
        self.assertEqual(self.dealt("placement.policy=contiguous"), "00001111")
        self.assertEqual(self.losses(self.config, *short), self.losses(self.config, *short, "placement.policy=contiguous"))

    def test_a_sweep_compares_it_with_the_others(self):
        trials = json.loads(self.switchyard("plan", self.config, more=("--sweep", "--json", "-")).stdout)
        self.assertTrue({"snake"} < {trial["policy"] for trial in trials if trial["fits"]})

    def test_its_options_are_checked(self):
        self.assertIn("run", self.error("plan", self.config, "placement.snake.run=0"))
        self.assertIn("did you mean 'run'", self.error("plan", self.config, "placement.snake.runs=2"))


main()
