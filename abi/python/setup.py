"""Puts the library and its plugins into the package, where they have been built or installed; else they are found when it is used.

SWITCHYARD_PREFIX names a folder that `meson install` wrote into; without it, ../../build is installed from if it is there.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

LIBRARY = "libswitchyard.so.1"
BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"


def library_below(prefix):
    found = sorted(pathlib.Path(prefix).rglob(LIBRARY))
    if not found:
        raise SystemExit(f"error: {prefix} holds no {LIBRARY}")
    return found[0]


def put_inside(library, target):
    """The library, and beside it its plugins in the folder where it looks for them."""
    shutil.copytree(library.parent / "switchyard", target / "switchyard", dirs_exist_ok=True)
    shutil.copy2(library, target / LIBRARY)


def is_inside():
    return bool(os.environ.get("SWITCHYARD_PREFIX")) or (BUILD / "core" / LIBRARY).exists()


class WithLibrary(build_py):
    def run(self):
        super().run()
        if not is_inside():
            return
        target = pathlib.Path(self.build_lib) / "switchyard" / "lib"
        prefix = os.environ.get("SWITCHYARD_PREFIX")
        if prefix:
            return put_inside(library_below(prefix), target)
        with tempfile.TemporaryDirectory() as aside:
            command = ["meson", "install", "-C", str(BUILD), "--no-rebuild", "--quiet", "--destdir", aside]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            put_inside(library_below(aside), target)


class ForThisMachine(bdist_wheel):
    """One wheel for every Python, and with the library inside for this kind of machine alone."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = not is_inside()

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": WithLibrary, "bdist_wheel": ForThisMachine})
