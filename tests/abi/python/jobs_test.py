"""Whole jobs from Python, with callbacks that end them or raise."""
import os
import tempfile
import unittest

from switchyard import Code, Error, Runtime

from models import TOKENS


class Jobs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(os.path.join(self.folder, "book.txt"), "w") as book:
            book.write("The quick brown fox jumps over the lazy dog. " * 20)
        self.runtime = Runtime(text=TOKENS, folder=self.folder)
        self.addCleanup(self.runtime.close)
        self.run_folder = os.path.join(self.folder, "run")

    def test_training_calls_back_and_a_run_is_opened_again(self):
        steps, reports, events, plans = [], [], [], []
        result = self.runtime.train(self.run_folder, on_plan=plans.append, on_step=lambda r: steps.append(r),
                                    on_report=lambda r: reports.append(r), on_event=events.append)
        self.assertEqual([r.step for r in steps], [1, 2, 3, 4])
        self.assertEqual([r.step for r in reports], [2, 4])
        self.assertIn("2 devices", plans[0])
        self.assertEqual(len(steps[0].peaks), 2)
        self.assertIsNone(steps[0].loss_scale)
        self.assertEqual((result["step"], os.path.realpath(result["folder"])), (4, os.path.realpath(self.run_folder)))
        self.assertEqual(result["loss"], steps[-1].loss)
        with Runtime(self.run_folder) as trained:
            self.assertEqual({t["name"] for t in trained.inspect()["tensors"]}, {t["name"] for t in self.runtime.inspect()["tensors"]})
            self.assertEqual(trained.generate(temperature=0).text, trained.generate(temperature=0.0).text)

    def test_a_callback_ends_a_run_by_returning_true(self):
        result = self.runtime.train(self.run_folder, on_step=lambda r: r.step == 2)
        self.assertEqual((result["step"], result["stopped"]), (2, True))

    def test_what_a_callback_raises_comes_back(self):
        class Mine(Exception):
            pass

        seen = []

        def fail(report):
            seen.append(report.step)
            raise Mine("at step %d" % report.step)

        with self.assertRaisesRegex(Mine, "at step 1"):
            self.runtime.train(self.run_folder, on_step=fail)
        self.assertEqual(seen, [1])

        def interrupt(piece):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.runtime.generate(on_text=interrupt)
        with self.assertRaisesRegex(Mine, "event"):
            self.runtime.train(os.path.join(self.folder, "other"), on_event=lambda line: (_ for _ in ()).throw(Mine("event")))

    def test_text_comes_in_pieces_and_ends_where_told(self):
        pieces = []
        told = self.runtime.generate("The fox", tokens=6, temperature=0, on_text=pieces.append)
        self.assertEqual("".join(pieces), told.text)
        self.assertEqual((told.prompt, len(told.ids), told.end), ("The fox", 6, "tokens"))
        ended = self.runtime.generate("The fox", tokens=6, temperature=0, on_text=lambda piece: True)
        self.assertEqual(ended.end, "cancelled")
        self.assertLess(len(ended.ids), 6)
        self.assertEqual(self.runtime.generate(seed=1).ids, self.runtime.generate(seed=1).ids)
        with self.assertRaises(Error) as caught:
            self.runtime.generate(temperature=-1)
        self.assertEqual(caught.exception.code, Code.CONFIG)

    def test_bench_times_steps(self):
        result = self.runtime.bench(3, warm_up=1)
        self.assertEqual((len(result["seconds"]), len(result["devices"])), (3, 2))

    def test_check_tries_out_a_plugin(self):
        plugin = os.path.join(os.environ["SWITCHYARD_BUILD"], "plugins", "sy-schedule-gpipe.so")
        result = self.runtime.check(plugin)
        self.assertEqual((result["failed"], result["subjects"][0]["name"]), (0, "gpipe"))
        layers = os.path.join(os.environ["SWITCHYARD_BUILD"], "tests/plugins/plain/sy-layer-plain.so")
        only = self.runtime.check(layers, sets=["out=3"], inputs=["4x5"], only="plain_linear")
        self.assertEqual([s["name"] for s in only["subjects"]], ["plain_linear"])
        self.assertIn("4x5", only["subjects"][0]["with"].replace(" ", ""))

    def test_compare_evaluate_and_config(self):
        self.assertTrue(self.runtime.compare(2)["equal"])
        with Runtime(text=self.runtime.config(), folder=self.folder) as same:
            self.assertEqual(str(same.plan()), str(self.runtime.plan()))
        with Runtime(text=TOKENS, folder=self.folder, sets=["data.validation=0.5"]) as held_out:
            self.assertGreater(held_out.evaluate()["loss"], 0)


if __name__ == "__main__":
    unittest.main()
