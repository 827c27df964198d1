"""Two unequal GPUs that need not be there."""
import json

from example import Example, main, path_of

CONFIG = path_of("unequal_pair")


class UnequalPair(Example):
    def test_the_plan_fits_both_budgets_and_neither_device_alone(self):
        plan = self.plan(CONFIG)
        self.assertEqual([d["name"] for d in plan["devices"]], ["cuda:0", "cuda:1"])
        for device in plan["devices"]:
            self.assertGreater(device["memory"]["peak"], 0)
            self.assertLessEqual(device["memory"]["peak"], device["budget"])
        self.assertGreater(plan["devices"][0]["parameters"], plan["devices"][1]["parameters"])
        self.assertTrue(any("does not fit on cuda:0 alone" in note for note in plan["notes"]))
        self.assertTrue(any(layer["recompute"] for layer in plan["layers"]))

    def test_as_few_layers_as_fit_are_recomputed(self):
        plan = self.plan(CONFIG)
        again = [layer["name"] for layer in plan["layers"] if layer["recompute"]]
        self.assertTrue(0 < len(again) < len(plan["layers"]) - 1)
        here = ", ".join(f'"{layer["name"]}" = "{layer["device"]}"' for layer in plan["layers"])
        same = ("placement.policy=explicit", f"placement.explicit={{{here}}}")
        self.plan(CONFIG, *same, f"train.recompute={json.dumps(again)}")
        for name in again[0], again[-1]:  # on each device
            less = json.dumps([other for other in again if other != name])
            self.assertIn("does not fit", self.error("plan", CONFIG, *same, f"train.recompute={less}"))

    def test_times_have_units_that_fit(self):
        self.assertRegex(self.switchyard("plan", CONFIG, 'devices.memory=["80GiB", "80GiB"]').stdout,
                         r"one device would take [\d.]+ s a step, this plan [\d.]+ s")

    def test_without_recomputing_it_does_not_fit(self):
        said = self.error("plan", CONFIG, "train.recompute=false")
        self.assertRegex(said, r"^error: .*nothing fits")

    def test_an_even_split_does_not_fit(self):
        said = self.error("plan", CONFIG, "placement.policy=contiguous")
        self.assertRegex(said, r"^error: .*layer \d+ 'h\.\d+' \(gpt_block\) does not fit on cuda:1")
        self.assertRegex(said, r"what helps: .*(memory_balanced|placement\.contiguous\.cuts)")


main()
