"""The book, for two steps and without fetching it."""
import json
import os

from example import Example, SOURCE, losses_of, main, path_of

CONFIG = path_of("train_a_book")
# Any text will do for two steps.
SHORT = ("train.steps=2", "data.text=" + os.path.join(SOURCE, "LICENSE"), "generate.tokens=8", "train.eval_windows=4")


class TrainABook(Example):
    def test_a_run_leaves_everything_behind(self):
        run = self.train("run", CONFIG, *SHORT)
        self.assertEqual(len(losses_of(run)), 2)
        for file in ("config.toml", "plan.json", "loss.svg", "sample.txt", "checkpoint/model.safetensors",
                     "checkpoint/optimizer.safetensors"):
            self.assertTrue(os.path.getsize(os.path.join(run, file)) > 0, file)
        said = json.loads(self.switchyard("generate", run, more=("--prompt", "A hacker is", "-n", "5", "--json")).stdout)
        self.assertEqual((said["prompt"], len(said["ids"])), ("A hacker is", 5))

    def test_another_policy_changes_devices_and_no_loss(self):
        dealt = ("placement.policy=round_robin",)
        self.assertNotEqual(self.devices(CONFIG), self.devices(CONFIG, *dealt))
        self.assertEqual(self.losses(CONFIG, *SHORT, *dealt), self.losses(CONFIG, *SHORT))


main()
