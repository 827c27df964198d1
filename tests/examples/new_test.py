"""What `switchyard new` writes builds against the installed headers alone, passes its checks, and trains; the tutorial quotes it, and the
commands of the top page work."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import textwrap

from example import BUILD, Example, Installed, SOURCE, losses_of, main

TUTORIAL = os.path.join(SOURCE, "plugins", "README.md")
PAGE = os.path.join(SOURCE, "README.md")
TEMPLATES = os.path.join(SOURCE, "core", "cli", "templates")


def text_of(path):
    with open(path) as file:
        return file.read()


class New(Example):
    @classmethod
    def setUpClass(cls):
        cls.installed = Installed(cls, "custom_layer")
        # LibTorch was not installed below the folder; with a sysroot, pkg-config looks for it there.
        folder = cls.installed.folder
        torch = cls.installed.run("pkg-config", "--variable=torchdir", "switchyard_torch").strip().removeprefix(folder)
        os.makedirs(os.path.dirname(folder + torch))
        os.symlink(torch, folder + torch)
        cls.installed.environment["PATH"] = os.path.dirname(cls.installed.program) + ":" + os.environ["PATH"]

    def project(self, kind, name, *flags):
        """Writes, builds, checks and trains two steps; the losses."""
        folder, build = os.path.join(self.folder, name), os.path.join(self.folder, name, "build")
        self.installed.run(self.installed.program, "new", kind, name, "--folder", folder, *flags)
        self.installed.run("meson", "setup", "--werror", build, folder)
        self.installed.run("meson", "compile", "-C", build)
        plugin = os.path.join(build, f"sy-{kind}-{name}.so")
        checked = self.installed.run(self.installed.program, "check", plugin)
        self.assertIn(f"{kind} {name}", checked)
        self.assertIn("nothing failed", checked)
        self.installed.run("meson", "test", "-C", build)  # the same by the project itself
        needed = subprocess.run(["readelf", "-d", plugin], stdout=subprocess.PIPE, text=True).stdout
        self.assertNotIn("libswitchyard.so", needed)
        self.assertEqual("torch" in needed, "--torch" in flags)
        run = os.path.join(self.folder, name + "-run")
        self.installed.run(self.installed.program, "train", os.path.join(folder, name + ".toml"), "--set", "train.steps=2", "--set",
                           "train.report_every=1", "--out", run)
        return [float(x) for x in losses_of(run)]

    def test_a_layer_in_c_and_of_libtorch_operators(self):
        by_hand = self.project("layer", "scale")
        torch = self.project("layer", "torch_scale", "--torch")
        for ours, theirs in zip(by_hand, torch, strict=True):
            self.assertAlmostEqual(ours, theirs, delta=1e-5)

    def test_a_policy(self):
        self.assertEqual(len(self.project("policy", "runs")), 2)

    def test_a_schedule(self):
        self.assertEqual(len(self.project("schedule", "groups")), 2)

    def test_an_optimizer(self):
        self.assertEqual(len(self.project("optimizer", "momentum")), 2)

    def test_lengths_are_what_is_promised(self):
        def class_lines(file):
            body = text_of(os.path.join(TEMPLATES, file)).split("struct ", 1)[1].split("\n};")[0]
            return len(body.splitlines())
        self.assertLessEqual(class_lines("torch_layer/my_layer.cpp"), 30)
        self.assertLessEqual(class_lines("policy/my_policy.cpp"), 18)


class Pages(Example):
    def test_the_tutorial_quotes_what_is_built(self):
        sources = [text_of(path) for path in glob.glob(os.path.join(TEMPLATES, "*", "*.c*")) if not path.endswith(".csv")]
        blocks = re.findall(r"^```\w+\n(.*?)^```", text_of(TUTORIAL), re.M | re.S)
        self.assertGreater(len(blocks), 8)
        for block in blocks:
            self.assertTrue(any(block in source for source in sources), block)

    def test_links_of_the_tutorial(self):
        for link in re.findall(r"\]\(([^)]+)\)", text_of(TUTORIAL)):
            self.assertTrue(os.path.exists(os.path.join(SOURCE, "plugins", link)), link)

    def commands(self, page, title):
        section = page.split(f"\n## {title}\n")[1].split("\n## ")[0]
        block = textwrap.dedent(re.search(r"(?:^    .*\n)+", section, re.M)[0])
        return [line.split("  #")[0].strip() for line in block.splitlines()]

    def test_the_way_of_a_stranger(self):
        """The commands of the top page, one after another in one shell, beside a link to the build folder."""
        commands = self.commands(text_of(PAGE), "From nothing to a layer of your own")
        self.assertLess(len(commands), 10)
        self.assertTrue(any(" new layer " in c for c in commands) and any(" train " in c for c in commands))
        os.symlink(BUILD, os.path.join(self.folder, "build"))
        done = self.run_command("bash", "-e", "-c", "\n".join(commands), cwd=self.folder)
        self.assertIn("nothing failed", done.stdout)
        runs = glob.glob(os.path.join(self.folder, "runs", "scale-001", "checkpoint", "model.safetensors"))
        self.assertEqual(len(runs), 1, done.stdout)


main()
