#!/usr/bin/env python3
"""What the built libraries show to the world.

exports.py LIBRARY PLUGIN...: the library exports the names in abi/symbols.txt, and needs neither LibTorch nor CUDA; each
plugin exports one object, carries its note, and stays loaded.
"""
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get('SWITCHYARD_SOURCE', pathlib.Path(__file__).resolve().parents[2]))
failures = []


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(path):
    """Name -> kind letter, as nm prints it."""
    return {f[-1].split('@')[0]: f[-2] for f in (l.split() for l in run('nm', '-D', '--defined-only', path).splitlines())}


def check(right, text):
    if not right:
        failures.append(text)


def check_library(path):
    listed = (l.split('#')[0].strip() for l in (SOURCE / 'abi' / 'symbols.txt').read_text().splitlines())
    wanted, found = {l for l in listed if l}, exported(path)
    header = (SOURCE / 'abi' / 'include' / 'switchyard' / 'switchyard.h').read_text()
    declared = set(re.findall(r'^SY_EXPORT [^;]*?\b(sy_\w+)\(', header, re.MULTILINE))
    for name in sorted(wanted ^ declared):
        check(False, f'{name} stands in one of switchyard.h and abi/symbols.txt, not in both')
    for name in sorted(wanted - found.keys()):
        check(False, f'{path}: {name} is listed in abi/symbols.txt but not exported')
    for name in sorted(found.keys() - wanted):
        check(False, f'{path}: {name} is exported but not listed in abi/symbols.txt')
    dynamic = run('readelf', '-dW', path)
    for needed in re.findall(r'\(NEEDED\).*\[(.*)\]', dynamic):
        check(not re.search(r'torch|c10|cuda|cudnn|cublas|nccl|nvrtc|mpi', needed), f'{path} needs {needed}')
    check('TEXTREL' not in dynamic, f'{path} has text relocations')
    check('libswitchyard.so.1' in dynamic, f'{path}: its soname is not libswitchyard.so.1')


def check_plugin(path):
    found = exported(path)
    check(list(found) == ['sy_plugin_v1'], f'{path} exports {sorted(found)}, not sy_plugin_v1 alone')
    check(found.get('sy_plugin_v1', 'R') in 'RDB', f'{path}: sy_plugin_v1 is no object')
    dynamic = run('readelf', '-dW', path)
    check('NODELETE' in dynamic, f'{path} was linked without -z nodelete')
    check('TEXTREL' not in dynamic, f'{path} has text relocations')
    check('libswitchyard.so' not in dynamic, f'{path} needs the core library: only sy_host crosses')
    check('Switchyard' in run('readelf', '-nW', path), f'{path} has no note (SY_PLUGIN_NOTE)')


check_library(sys.argv[1])
for plugin in sys.argv[2:]:
    check_plugin(plugin)
print('\n'.join(failures) or f'{len(sys.argv) - 1} libraries are as they should be')
sys.exit(bool(failures))
