"""What the tests of the examples do with the built program."""
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("SWITCHYARD_SOURCE", os.path.abspath(os.path.join(os.path.dirname(__file__), "../..")))
BUILD = os.environ.get("SWITCHYARD_BUILD", os.path.join(SOURCE, "build"))
PROGRAM = os.path.join(BUILD, "switchyard")


def path_of(example, file=None):
    return os.path.join(SOURCE, "examples", example, file or example + ".toml")


class Example(unittest.TestCase):
    """One example; `folder` is empty and goes away after each test."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def run_command(self, *command, expected=0, **options):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.assertEqual(done.returncode, expected, f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        return done

    def switchyard(self, command, config, *sets, expected=0, more=()):
        words = [word for s in sets for word in ("--set", s)]
        return self.run_command(PROGRAM, command, config, *words, *more, expected=expected, cwd=self.folder)

    def plan(self, config, *sets):
        return json.loads(self.switchyard("plan", config, *sets, more=("--json", "-")).stdout)

    def devices(self, config, *sets):
        """The device of each layer, by name."""
        return {layer["name"]: layer["device"] for layer in self.plan(config, *sets)["layers"]}

    def train(self, name, config, *sets):
        """Trains into a run folder of this name, which is returned."""
        run = os.path.join(self.folder, name)
        self.switchyard("train", config, "train.report_every=1", *sets, more=("--out", run))
        return run

    def losses(self, config, *sets):
        run = tempfile.mkdtemp(dir=self.folder)
        self.switchyard("train", config, "train.report_every=1", *sets, more=("--out", run))
        return losses_of(run)

    def error(self, command, config, *sets):
        """The lines of a wrong configuration."""
        return self.switchyard(command, config, *sets, expected=2).stderr


class Installed:
    """What was built, installed below a folder, and a copy of an example outside the source tree."""

    def __init__(self, test_class, example):
        self.folder = tempfile.mkdtemp()
        test_class.addClassCleanup(shutil.rmtree, self.folder)
        self.run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", self.folder)
        for root, _, files in os.walk(self.folder):
            if "libswitchyard.so.1" in files:
                library = root
            if os.path.basename(root) == "bin":
                self.program = os.path.join(root, "switchyard")
        self.environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(library, "pkgconfig"),
                                PKG_CONFIG_SYSROOT_DIR=self.folder,
                                LD_LIBRARY_PATH=f"{library}:{library}/switchyard")
        self.example = os.path.join(self.folder, "work", example)
        made_here = shutil.ignore_patterns("*.so", "build")
        shutil.copytree(os.path.dirname(path_of(example)), self.example, ignore=made_here)

    def run(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=getattr(self, "environment", None))
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        return done.stdout

    def file(self, name):
        return os.path.join(self.example, name)


def losses_of(run):
    """The losses of a run's reports as they are written, so that equal text is equal bits."""
    with open(os.path.join(run, "metrics.jsonl")) as file:
        return [json.loads(line, parse_float=str)["loss"] for line in file]


def model_bytes(run):
    with open(os.path.join(run, "checkpoint", "model.safetensors"), "rb") as file:
        return file.read()


def tensor(run, name):
    """A tensor of a run's checkpoint as a list of numbers."""
    data = model_bytes(run)
    length = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + length])[name]
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    kind = {"F32": "f", "I64": "q"}[entry["dtype"]]
    return list(struct.unpack(f"<{(end - begin) // struct.calcsize(kind)}{kind}", data[begin:end]))


def main():
    if not os.path.exists(os.path.join(BUILD, "plugins", "sy-layer-dense.so")):
        print("[skipped] built without LibTorch, whose layers the examples use")
        sys.exit(77)
    unittest.main()
