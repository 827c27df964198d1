"""The package as pip installs it: from the source tree and as a wheel, with types that hold."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from interpreter import need

need("venv", "pip", "setuptools", "wheel", "mypy")

PACKAGE = os.path.join(os.environ["SWITCHYARD_SOURCE"], "abi", "python")
BUILD = os.environ["SWITCHYARD_BUILD"]
USER = '''\
"""What a user writes."""

from __future__ import annotations

import array

from switchyard import Error, Report, Runtime, StepResult, Tensor
from switchyard.plugin import Placement, Policy, Problem


class First(Policy):
    id = "first"

    def place(self, problem: Problem) -> Placement:
        return Placement([0 for _ in problem.layers], [0], why=problem.layers[0].name)


def on_step(report: Report) -> bool:
    return report.loss < 1.0 and (report.accuracy or 0.0) > 0.5


def run(config: str) -> float:
    with Runtime(config, ["train.batch=4"]) as runtime, runtime.plan() as plan, plan.build() as pipe:
        result: StepResult = pipe.step(array.array("f", [1.0]), array.array("q", [1]))
        scores: Tensor = pipe.forward(array.array("f", [1.0]))
        runtime.train(on_step=on_step)
        return result.loss + scores.shape[0]
'''
MISTAKES = '''\
from switchyard import Pipe, Runtime

def run(pipe: Pipe) -> str:
    Runtime(3)
    pipe.step("text", "text")
    return pipe.evaluate(b"", b"").loss
'''


def clean(**changes):
    """An environment that leads to nothing but what is installed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SWITCHYARD_", "PYTHON"))}
    return {**kept, **changes}


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):  # an installation that finds the library
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.source = os.path.join(cls.folder, "tree", "abi", "python")
        shutil.copytree(PACKAGE, cls.source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__", ".mypy_cache"))
        cls.found = cls.environment("found")
        cls.install(cls.found, cls.source)

    @classmethod
    def run_command(cls, *command, expected=0, **environment):
        done = subprocess.run(command, capture_output=True, text=True, cwd=cls.folder, env=clean(**environment))
        assert done.returncode == expected, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    @classmethod
    def environment(cls, name):
        """A fresh Python; the distribution's setuptools are those that build."""
        path = os.path.join(cls.folder, name)
        cls.run_command(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", path)
        return os.path.join(path, "bin", "python")

    @classmethod
    def install(cls, python, what, **environment):
        cls.run_command(python, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "--no-index",
                         "--disable-pip-version-check", what, **environment)

    def layers(self, python, **environment):
        program = "import switchyard; print(switchyard.__file__, *switchyard.Runtime().describe()['layers'])"
        file, *layers = self.run_command(python, "-c", program, **environment).split()
        self.assertTrue(file.startswith(self.folder), file)
        return layers

    def test_from_a_source_tree_without_a_build_the_library_is_found(self):
        self.layers(self.found, SWITCHYARD_LIBRARY=os.environ["SWITCHYARD_LIBRARY"])
        by_loader = self.layers(self.found, LD_LIBRARY_PATH=os.path.dirname(os.environ["SWITCHYARD_LIBRARY"]),
                                SWITCHYARD_PLUGIN_PATH=os.path.join(BUILD, "tests", "plugins", "plain"))
        self.assertIn("plain_linear", by_loader)

    def test_a_wheel_has_library_and_plugins_inside(self):
        prefix, wheels = os.path.join(self.folder, "prefix"), os.path.join(self.folder, "wheels")
        self.run_command("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", prefix)
        self.run_command(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index",
                         "--disable-pip-version-check", "-w", wheels, self.source, SWITCHYARD_PREFIX=prefix)
        shutil.rmtree(prefix)
        wheel, = os.listdir(wheels)
        self.assertRegex(wheel, r"^switchyard-[\d.]+-py3-none-linux_\w+\.whl$")
        python = self.environment("inside")
        self.install(python, os.path.join(wheels, wheel))
        program = ("import switchyard; r = switchyard.Runtime(); "
                   "print(*r.describe()['optimizers'], *(p['path'] for p in r.plugins()['plugins']))")
        said = self.run_command(python, "-c", program).split()
        self.assertIn("sgd", said)
        self.assertTrue(any(s.startswith(self.folder) and s.endswith("sy-optimizer-sgd.so") for s in said), said)

    def test_types_hold_inside_and_for_users(self):
        self.run_command(sys.executable, "-m", "mypy", "--config-file", os.path.join(self.source, "pyproject.toml"),
                         os.path.join(self.source, "switchyard"))
        skip_torch = "[mypy]\n[mypy-torch.*]\nfollow_imports = skip\n"  # reading all of it takes a minute
        for name, text in ("user.py", USER), ("mistakes.py", MISTAKES), ("mypy.ini", skip_torch):
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(text)
        check = [sys.executable, "-m", "mypy", "--strict", "--config-file", "mypy.ini", "--python-executable", self.found]
        self.run_command(*check, "user.py")
        found = self.run_command(*check, "mistakes.py", expected=1)
        for line in 4, 5, 6:
            self.assertIn(f"mistakes.py:{line}: error", found)

    def test_everything_public_has_a_docstring(self):
        program = ("import inspect, switchyard, switchyard.plugin\n"
                   "for module in switchyard, switchyard.plugin:\n"
                   "    for name, item in vars(module).items():\n"
                   "        if name.startswith('_') or not inspect.isclass(item) or not item.__module__.startswith('switchyard'): continue\n"
                   "        items = [(name, item)] + [(f'{name}.{n}', f) for n, f in vars(item).items()"
                   " if inspect.isfunction(f) and not n.startswith('_')]\n"
                   "        for n, i in items:\n"
                   "            if not i.__doc__: print(n)\n")
        self.assertEqual(self.run_command(self.found, "-c", program, SWITCHYARD_LIBRARY=os.environ["SWITCHYARD_LIBRARY"]), "")


if __name__ == "__main__":
    unittest.main()
