#!/usr/bin/env python3
"""Training that has ended ends the program: twenty times, quickly, with exit 0."""
from program import Folder, main


def twenty_runs():
    with Folder() as folder:
        for n in range(20):
            code, text, seconds = folder.run('--out', f'run-{n}')
            assert code == 0, text
            assert seconds < 15, f'{seconds:.1f} s'


main([twenty_runs])
