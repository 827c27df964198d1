"""Batch norm in fp32 inside a bf16 net: the same bits both ways to ask for it, and its running statistics."""
import os

from example import Example, losses_of, main, model_bytes, path_of, tensor

CONFIG = path_of("batchnorm_fp32")
SHORT = ("train.steps=2", "data.validation=0")
MICRO_BATCHES = 4


class BatchnormFp32(Example):
    @classmethod
    def setUpClass(cls):
        os.system(f"python3 {path_of('batchnorm_fp32', 'make_stripes.py')}")

    def test_run(self):
        run = os.path.join(self.folder, "run")
        self.run_command(path_of("batchnorm_fp32", "run"), "--set", "train.steps=2", "--set", "train.report_every=1",
                         "--out", run)
        self.assertEqual(len(losses_of(run)), 2)

    def test_type_and_rule_give_the_same_bits(self):
        typed = self.train("typed", CONFIG, *SHORT)
        kept = self.train("kept", CONFIG, *SHORT, "layer.res.layer.bn.type=batchnorm",
                          'precision.keep_fp32=["type:batchnorm*"]')
        self.assertEqual(losses_of(kept), losses_of(typed))
        self.assertEqual(model_bytes(kept), model_bytes(typed))

    def test_statistics_once_per_step_or_once_per_micro_batch(self):
        deferred = self.train("deferred", CONFIG, *SHORT)
        micro = self.train("micro", CONFIG, *SHORT, "layer.res.layer.bn.statistics=micro")
        self.assertEqual(tensor(deferred, "res.0.bn.num_batches_tracked"), [2])
        self.assertEqual(tensor(micro, "res.0.bn.num_batches_tracked"), [2 * MICRO_BATCHES])
        self.assertEqual(losses_of(deferred), losses_of(micro))

    def test_deferred_statistics_do_not_depend_on_micro_batches(self):
        one_step = ("train.steps=1", "data.validation=0", "precision.type=fp32")
        means = [tensor(self.train(f"in_{n}", CONFIG, *one_step, f"schedule.micro_batches={n}"), "res.0.bn.running_mean")
                 for n in (1, MICRO_BATCHES)]
        for one, many in zip(*means):
            self.assertAlmostEqual(one, many, delta=1e-6)

    def test_recomputing_changes_neither_losses_nor_statistics(self):
        expected = self.train("kept", CONFIG, *SHORT)
        again = self.train("recomputed", CONFIG, *SHORT, "train.recompute=true")
        self.assertEqual(losses_of(again), losses_of(expected))
        self.assertEqual(model_bytes(again), model_bytes(expected))


main()
