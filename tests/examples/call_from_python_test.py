"""The same in Python, with ctypes."""
import os

from example import BUILD, Example, main, path_of


class CallFromPython(Example):
    def test_it_learns_the_sentence_with_any_plan(self):
        environment = dict(os.environ, SWITCHYARD_LIBRARY=os.path.join(BUILD, "core", "libswitchyard.so.1"))

        def run(*arguments):
            said = self.run_command("python3", path_of("call_from_python", "sentence.py"), *arguments, env=environment).stdout
            return said, [line for line in said.splitlines() if "  loss " in line]

        expected, losses = run()
        self.assertTrue(expected.endswith("the quick brown fox jumps over the lazy dog, from one device to the next. \n"))
        self.assertEqual(len(losses), 5)
        dealt, same = run(path_of("call_from_python", "sentence.toml"), "placement.policy=round_robin")
        self.assertIn("2 devices; round_robin", dealt)
        self.assertEqual(same, losses)

    def test_mistakes_raise(self):
        environment = dict(os.environ, SWITCHYARD_LIBRARY=os.path.join(BUILD, "core", "libswitchyard.so.1"))
        said = self.run_command("python3", path_of("call_from_python", "sentence.py"),
                                path_of("call_from_python", "sentence.toml"), "train.batsh=3", expected=1, env=environment)
        self.assertIn("did you mean 'batch'", said.stderr)


main()
