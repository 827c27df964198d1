"""The split transformer: the cut, fp16 with batch norm in fp32, and the error of what does not fit."""
import os

from example import Example, losses_of, main, path_of

CONFIG = path_of("split_transformer")


class SplitTransformer(Example):
    @classmethod
    def setUpClass(cls):
        os.system(f"python3 {path_of('split_transformer', 'make_waves.py')}")

    def test_run(self):
        run = os.path.join(self.folder, "run")
        self.run_command(path_of("split_transformer", "run"), "--set", "train.steps=2", "--set", "train.report_every=1",
                         "--out", run)
        self.assertEqual(len(losses_of(run)), 2)

    def test_cut_before_pair_17(self):
        devices = self.devices(CONFIG)
        self.assertEqual((devices["h.16.bn"], devices["h.17.attn"], devices["loss"]), ("cpu:0", "cpu:1", "cpu:1"))

    def test_batchnorm_kept_in_fp32_is_batchnorm_fp32(self):
        short = ("train.steps=2", "data.validation=0")
        kept = self.losses(CONFIG, *short)
        typed = self.losses(CONFIG, *short, "layer.h.layer.bn.type=batchnorm_fp32", "precision.keep_fp32=[]")
        half = self.losses(CONFIG, *short, "precision.keep_fp32=[]")
        self.assertEqual(kept, typed)
        self.assertNotEqual(kept, half)

    def test_what_does_not_fit_is_named_before_anything_is_allocated(self):
        said = self.error("plan", CONFIG, 'devices.memory=["4MiB", "64MiB"]')
        self.assertRegex(said, r"^error: .*split_transformer\.toml:\d+:1: layer \d+ 'h\.\d+\.\w+' .*does not fit on cpu:0")
        self.assertIn("what helps:", said)
        self.plan(CONFIG, 'devices.memory=["4MiB", "64MiB"]', "placement.policy=memory_balanced")


main()
