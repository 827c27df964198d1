"""A program in C against the installed library."""
import re

from example import Example, Installed, main


class CallFromC(Example):
    def test_it_plans_trains_and_evaluates_the_same_with_other_plans(self):
        installed = Installed(type(self), "call_from_c")
        installed.run("make", "-C", installed.example)

        def run(config):
            return installed.run(installed.file("rings"), config)

        def numbers(said):
            return [line for line in said.splitlines() if line.startswith(("step ", "new points")) and "predicted" not in line]

        config = installed.file("rings.toml")
        expected = run(config)
        self.assertIn("2 devices; contiguous", expected)
        self.assertGreater(float(re.search(r"accuracy ([\d.]+)", expected)[1]), 0.95)
        self.assertRegex(expected, r"head\.bias = .*, on device 1")

        other = installed.file("other.toml")
        with open(config) as file, open(other, "w") as changed:
            changed.write(file.read().replace('"contiguous"', '"round_robin"'))
        dealt = run(other)
        self.assertIn("2 devices; round_robin", dealt)
        self.assertEqual(len(numbers(expected)), 6)
        self.assertEqual(numbers(dealt), numbers(expected))


main()
