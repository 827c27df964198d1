"""The dealt GPT: which device gets which block, and that it changes no loss."""
from example import Example, main, model_bytes, path_of

CONFIG = path_of("round_robin_gpt")
SHORT = ("train.steps=3", "data.validation=0", "generate.tokens=8")
OTHER_PLANS = [
    ("placement.policy=contiguous",),
    ("placement.policy=memory_balanced",),
    ("schedule.type=gpipe",),
    ("placement.round_robin.ends=split",),
    ('devices.use=["cpu:0", "cpu:1", "cpu:2"]',),
    ('devices.use=["cpu:0"]',),
]


class RoundRobinGpt(Example):
    def test_blocks_are_dealt(self):
        for count in 2, 3:
            devices = self.devices(CONFIG, "devices.use=[" + ", ".join(f'"cpu:{d}"' for d in range(count)) + "]")
            self.assertEqual([devices[f"h.{i}"] for i in range(6)], [f"cpu:{i % count}" for i in range(6)])
            self.assertEqual((devices["embed"], devices["head"]), ("cpu:0", "cpu:0"))

    def test_split_ends(self):
        devices = self.devices(CONFIG, "placement.round_robin.ends=split")
        self.assertEqual((devices["embed"], devices["head"]), ("cpu:0", "cpu:1"))

    def test_the_plan_counts_transfers_and_names_the_merge(self):
        plan = self.plan(CONFIG)
        self.assertEqual((plan["transfers"]["forward"], plan["transfers"]["backward"]), (6, 6))
        self.assertTrue(any("--set placement.policy=contiguous" in warning for warning in plan["warnings"]))

    def test_every_plan_gives_the_same_losses(self):
        expected = self.losses(CONFIG, *SHORT)
        self.assertEqual(len(expected), 3)
        shapes = [[self.plan(CONFIG)[key] for key in ("schedule", "layers", "devices")]]
        for sets in OTHER_PLANS:
            with self.subTest(sets):
                shape = [self.plan(CONFIG, *sets)[key] for key in ("schedule", "layers", "devices")]
                self.assertNotIn(shape, shapes)
                shapes.append(shape)
                self.assertEqual(self.losses(CONFIG, *SHORT, *sets), expected)

    def test_a_checkpoint_goes_on_under_another_plan(self):
        whole = self.train("whole", CONFIG, *SHORT)
        begun = self.train("begun", CONFIG, *SHORT, "train.steps=1")
        self.switchyard("train", CONFIG, *SHORT, "placement.policy=contiguous", more=("--resume", begun))
        self.assertEqual(model_bytes(begun), model_bytes(whole))

    def test_without_a_mask_a_position_sees_what_it_predicts(self):
        masked = self.losses(CONFIG, *SHORT, "layer.h.causal=true")
        self.assertNotEqual(self.losses(CONFIG, *SHORT), masked)


main()
