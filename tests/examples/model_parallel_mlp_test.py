"""Two layers placed by hand."""
import json

from example import Example, losses_of, main, path_of

CONFIG = path_of("model_parallel_mlp")


class ModelParallelMlp(Example):
    def test_layers_lie_where_the_file_says(self):
        self.assertEqual(self.devices(CONFIG), {"layer1": "cpu:0", "relu": "cpu:0", "layer2": "cpu:1", "loss": "cpu:1"})

    def test_moving_a_layer_changes_the_plan_and_no_loss(self):
        moved = 'placement.explicit."relu"=cpu:1'
        self.assertEqual(self.devices(CONFIG, moved)["relu"], "cpu:1")
        self.assertEqual(self.losses(CONFIG, "train.steps=3", moved), self.losses(CONFIG, "train.steps=3"))

    def test_it_learns_the_table(self):
        run = self.train("run", CONFIG)
        losses = losses_of(run)
        self.assertEqual(len(losses), 200)
        self.assertLess(float(losses[-1]), float(losses[0]) / 2)
        self.assertGreater(json.loads(self.switchyard("eval", run, more=("--json",)).stdout)["accuracy"], 0.8)

    def test_a_layer_without_a_device_is_an_error(self):
        self.assertIn("layer2", self.error("plan", CONFIG, 'placement.explicit={layer1="cpu:0", relu="cpu:0", loss="cpu:1"}'))


main()
