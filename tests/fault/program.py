"""The built program, run on small_run.toml in a folder of its own, and what it left behind."""
import json
import os
import pathlib
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ['SWITCHYARD_BUILD'])
STOP_WITHIN = 2  # as small_run.toml says

# Leaks are looked for elsewhere; a killed program has some.
ENVIRONMENT = dict(os.environ, NO_COLOR='1', SWITCHYARD_PLUGIN_PATH=os.pathsep.join(
    str(BUILD / 'tests' / 'plugins' / name) for name in ('plain', 'faulty')))


class Folder:
    """A temporary folder, for `with`."""

    def __enter__(self):
        self._held = tempfile.TemporaryDirectory(prefix='switchyard-fault-')
        self.path = pathlib.Path(self._held.name)
        return self

    def __exit__(self, *_):
        self._held.cleanup()

    def command(self, *arguments, sets=()):
        pairs = [word for pair in sets for word in ('--set', pair)]
        return [str(BUILD / 'switchyard'), 'train', str(HERE / 'small_run.toml'), *map(str, arguments), *pairs]

    def start(self, *arguments, sets=()):
        return subprocess.Popen(self.command(*arguments, sets=sets), cwd=self.path, env=ENVIRONMENT,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *arguments, sets=(), timeout=60):
        """(exit code, stderr, seconds)."""
        before = time.monotonic()
        done = subprocess.run(self.command(*arguments, sets=sets), cwd=self.path, env=ENVIRONMENT, capture_output=True,
                              text=True, timeout=timeout)
        return done.returncode, done.stderr, time.monotonic() - before


def fault(what, call, **more):
    """--set values that make layer x misbehave."""
    return [f'layer.x.fault="{what}"', f'layer.x.in={call}'] + [f'layer.x.{k}={v}' for k, v in more.items()]


def wait_for(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f'{what} did not come within {seconds} s'
        time.sleep(0.01)


def last_step(run):
    """The step of the checkpoint that `run` points to."""
    return int((run / 'checkpoint').resolve().name.split('-')[-1])


def tensors(path):
    """Name -> (header entry, bytes) of a safetensors file, which must be whole."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], 'little')
    header = json.loads(data[8:8 + length])
    body = data[8 + length:]
    found = {name: (entry, body[slice(*entry['data_offsets'])]) for name, entry in header.items() if name != '__metadata__'}
    assert sum(len(content) for _, content in found.values()) == len(body), f'{path} is not whole'
    return found


def main(tests):
    for test in tests:
        test()
        print('ok', test.__name__)
