"""The same run from C, C++, Python, Rust and Go, against the installed library."""
import os

from example import Example, Installed, main

NAMES = ["c", "c++", "python", "rust", "go"]


class Clients(Example):
    @classmethod
    def setUpClass(cls):
        cls.installed = Installed(cls, "clients")

    def run_all(self, *config):
        """Losses by language, as text, and what each language said besides; whoever was skipped is left out."""
        lines = self.installed.run(self.installed.file("run"), *config).splitlines()
        self.assertEqual([line.split()[0] for line in lines], NAMES)
        losses, said = {}, {}
        for name, line in zip(NAMES, lines):
            if line.startswith(name + " skipped: "):
                print(f"[skipped] {line}")
                continue
            losses[name] = line.split()[1:]
            with open(self.installed.file(os.path.join("build", name + ".log"))) as file:
                said[name] = file.read()
        return losses, said

    def test_all_languages_give_the_same_losses_with_any_plan(self):
        losses, said = self.run_all()
        expected = losses["python"]
        self.assertEqual(len(expected), 20)
        self.assertLess(float(expected[-1]), 0.6 * float(expected[0]))
        for name in losses:
            self.assertEqual(losses[name], expected, name)
            self.assertEqual(said[name], said["python"], name)
        for part in ("2 devices; contiguous", "h.1.mlp.up.weight on device 1: ", "the quick |the ",
                     "SY_E_CONFIG: ", "did you mean 'batch'?"):
            self.assertIn(part, said["python"])

        other = os.path.join(self.folder, "other.toml")
        with open(self.installed.file("golden.toml")) as file, open(other, "w") as changed:
            changed.write(file.read().replace('"contiguous"', '"round_robin"'))
        dealt, said = self.run_all(other)
        self.assertIn("2 devices; round_robin", said["python"])
        for name in dealt:
            self.assertEqual(dealt[name], expected, name)

    def test_where_none_may_be_skipped_a_missing_compiler_is_a_failure(self):
        tools = os.path.join(self.folder, "tools")
        os.mkdir(tools)
        for folder in os.environ["PATH"].split(os.pathsep):
            for tool in os.listdir(folder) if os.path.isdir(folder) else []:
                if tool not in ("go", "rustc") and not os.path.lexists(os.path.join(tools, tool)):
                    os.symlink(os.path.join(folder, tool), os.path.join(tools, tool))
        environment = dict(self.installed.environment, PATH=tools)
        environment.pop("SWITCHYARD_ALL_CLIENTS", None)
        done = self.run_command(self.installed.file("run"), env=environment)
        self.assertIn("\ngo skipped: go is not here\n", done.stdout)
        environment["SWITCHYARD_ALL_CLIENTS"] = "1"
        done = self.run_command(self.installed.file("run"), env=environment, expected=1)
        self.assertIn("rust may not be skipped", done.stderr)


main()
