"""A browser without a window, driven by its command line alone."""
import os
import re
import shutil
import subprocess
import tempfile
import zlib

NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']


def find():
    """The first browser that really starts; on Ubuntu chromium may be a placeholder for a snap. None: there is none."""
    for name in NAMES:
        path = shutil.which(name)
        if path and subprocess.run([path, '--version'], capture_output=True).returncode == 0:
            return path
    return None


class Browser:
    def __init__(self, path):
        self.path = path

    def _run(self, page, *options):
        with tempfile.TemporaryDirectory() as profile:
            # The page is our own, and a sandbox cannot be had as root.
            command = [self.path, '--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--window-size=1280,1400',
                       '--enable-logging=stderr', f'--user-data-dir={profile}', *options, page.as_uri()]
            done = subprocess.run(command, capture_output=True, text=True, timeout=100, env={**os.environ, 'HOME': profile})
        if done.returncode != 0:
            raise AssertionError(f'{command}: {done.stderr}')
        return done.stdout, [line for line in done.stderr.splitlines() if re.search(r':CONSOLE[:(]', line)]

    def dom(self, page, *options):
        """The page after its scripts ran, and what stands on the console."""
        return self._run(page, '--dump-dom', *options)

    def corner(self, page, dark):
        """The colour of the picture's first pixel, such as '#ffffff'."""
        picture = page.with_suffix('.png')
        self._run(page, f'--screenshot={picture}', f'--blink-settings=preferredColorScheme={0 if dark else 1}')
        return first_pixel(picture.read_bytes())


def first_pixel(png):
    """No filter of PNG changes a picture's first pixel: all its neighbours are zero."""
    data, at = b'', 8
    while at < len(png):
        length, kind = int.from_bytes(png[at:at + 4], 'big'), png[at + 4:at + 8]
        if kind == b'IDAT':
            data += png[at + 8:at + 8 + length]
        at += 12 + length
    return '#' + zlib.decompressobj().decompress(data, 4)[1:4].hex()
