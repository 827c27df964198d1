"""Two unequal GPUs that need not be there."""
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

    def test_without_recomputing_it_does_not_fit(self):
        said = self.error("plan", CONFIG, "train.recompute=false")
        self.assertRegex(said, r"^error: .*nothing fits")

    def test_an_even_split_does_not_fit(self):
        said = self.error("plan", CONFIG, "placement.policy=contiguous")
        self.assertRegex(said, r"^error: .*layer \d+ 'h\.\d+' \(gpt_block\) does not fit on cuda:1")
        self.assertIn("memory_balanced", said)


main()
