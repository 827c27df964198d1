#!/usr/bin/env python3
"""Compares the layout of the C ABI with abi/golden: every struct, slot, signature, constant and macro of the headers.

A golden line that is gone is a break. New lines alone are growth: they need a line in abi/CHANGELOG.md and a new golden file
(layout.py --update). From 1.0 on, the golden files of all releases of this major count, not only the last.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ.get('SWITCHYARD_SOURCE', pathlib.Path(__file__).resolve().parents[2]))
INCLUDE = SOURCE / 'abi' / 'include'
GOLDEN = SOURCE / 'abi' / 'golden'


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Debug:
    """The debugging information of one object file, as readelf prints it."""

    def __init__(self, text):
        self.entries = {}  # offset -> (tag, attributes, offsets of children)
        parents = []
        entry = None
        for line in text.splitlines():
            head = re.match(r'\s*<(\d+)><([0-9a-f]+)>: Abbrev Number: \d+ \((DW_TAG_\w+)\)', line)
            if head:
                depth, offset = int(head[1]), int(head[2], 16)
                entry = (head[3], {}, [])
                self.entries[offset] = entry
                del parents[depth:]
                if parents:
                    self.entries[parents[-1]][2].append(offset)
                parents.append(offset)
                continue
            attribute = re.match(r'\s*<[0-9a-f]+>\s+(DW_AT_\w+)\s*: (.*)', line)
            if attribute and entry:
                value = re.sub(r'^\((?:indirect|alt indirect)[^)]*\): ', '', attribute[2]).strip()
                entry[1][attribute[1]] = value

    def target(self, attributes):
        return int(attributes['DW_AT_type'].strip('<>'), 16) if 'DW_AT_type' in attributes else None

    def type_text(self, offset):
        """A type in one line; typedefs keep their names."""
        if offset is None:
            return 'void'
        tag, attributes, children = self.entries[offset]
        inner = lambda: self.type_text(self.target(attributes))
        if tag == 'DW_TAG_pointer_type':
            target = self.target(attributes)
            if target is not None and self.entries[target][0] == 'DW_TAG_subroutine_type':
                return self.signature(target)
            return inner() + '*'
        if tag == 'DW_TAG_const_type':
            return inner() + ' const'
        if tag == 'DW_TAG_array_type':
            bounds = [self.entries[c][1] for c in children]
            return inner() + ''.join(f"[{int(b['DW_AT_upper_bound'], 0) + 1}]" for b in bounds)
        if tag == 'DW_TAG_structure_type':
            return 'struct ' + attributes['DW_AT_name'] if 'DW_AT_name' in attributes else 'struct'
        return attributes.get('DW_AT_name', tag)

    def signature(self, offset):
        _, attributes, children = self.entries[offset]
        parameters = [self.type_text(self.target(self.entries[c][1])) for c in children]
        return f"{self.type_text(self.target(attributes))} (*)({', '.join(parameters)})"

    def lines(self):
        for tag, attributes, children in self.entries.values():
            name = attributes.get('DW_AT_name', '')
            if tag == 'DW_TAG_structure_type' and name.startswith('sy_'):
                if 'DW_AT_declaration' in attributes:
                    yield f'handle {name}'
                    continue
                yield f"struct {name}: {attributes['DW_AT_byte_size']} bytes"
                for child in children:
                    member = self.entries[child][1]
                    at = int(member['DW_AT_data_member_location'].split()[0], 0)
                    yield f"struct {name} {at:4}: {member['DW_AT_name']}: {self.type_text(self.target(member))}"
            if tag == 'DW_TAG_enumerator' and name.startswith('SY_'):
                yield f"constant {name} = {int(attributes['DW_AT_const_value'].split()[0], 0)}"
            if tag == 'DW_TAG_typedef' and name.startswith('sy_'):
                target = self.type_text(self.target(attributes))
                if target != 'struct ' + name:
                    yield f'type {name} = {target}'


def macros(compiler, source):
    for line in run(*compiler, '-std=c11', f'-I{INCLUDE}', '-E', '-dM', source).splitlines():
        found = re.match(r'#define (SY_\w+)(\(.*?\))? ?(.*)', line)
        if not found or found[2] or found[1].endswith('_H') or found[1] in ('SY_BEGIN', 'SY_END', 'SY_EXPORT', 'SY_API'):
            continue
        yield f'macro {found[1]} {found[3]}'.rstrip()


def layout(compiler, *options):
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder) / 'all.c', pathlib.Path(folder) / 'all.o'
        headers = sorted(h.name for h in (INCLUDE / 'switchyard').glob('*.h'))
        source.write_text(''.join(f'#include "switchyard/{h}"\n' for h in headers))
        run(*compiler, '-std=c11', f'-I{INCLUDE}', '-gdwarf-4', '-fno-eliminate-unused-debug-types', *options, '-c', source, '-o',
            target)
        debug = Debug(run('readelf', '--debug-dump=info', target))
        return sorted({*debug.lines(), *macros(compiler, source)})


def version(lines):
    """What the loader compares, and what the note says: they must not drift apart."""
    number = {m[1]: int(m[2]) for m in (re.match(r'macro SY_(\w+_M[AI][JN]OR) (\d+)u?$', line) for line in lines) if m}
    abi, note = (number['ABI_MAJOR'], number['ABI_MINOR']), (number['NOTE_MAJOR'], number['NOTE_MINOR'])
    if abi != note:
        sys.exit(f'SY_ABI_MAJOR, SY_ABI_MINOR are {abi}, SY_NOTE_MAJOR, SY_NOTE_MINOR {note}')
    return abi


def grew(line, lines):
    """Whether the total of a struct that may grow (it begins with its size) did so; its old members have lines of their own."""
    old = re.match(r'struct (\w+): (\d+) bytes', line)
    if not old or not any(re.match(rf'struct {old[1]} +[04]: size: uint32_t$', l) for l in lines):
        return False
    return any((new := re.match(rf'struct {old[1]}: (\d+) bytes', l)) and int(new[1]) > int(old[2]) for l in lines)


def compare(golden, lines):
    """Lines of a golden file that are gone, and new ones."""
    old = [l for l in golden.read_text().splitlines() if l and not l.startswith('#')]
    versions = ('macro SY_ABI_MINOR ', 'macro SY_NOTE_MINOR ')
    keep = lambda ls: {l for l in ls if not l.startswith(versions)}
    gone, new = keep(old) - keep(lines), keep(lines) - keep(old)
    return sorted(l for l in gone if not grew(l, lines)), sorted(new)


def forbidden(lines):
    """Types whose size depends on compiler or options must not cross."""
    words = re.compile(r'\b(size_t|long|short|bool|_Bool|int|unsigned|DW_TAG_\w+)\b')
    return [l for l in lines if l.startswith(('struct', 'type')) and words.search(l)]


def main():
    compiler = [a for a in sys.argv[1:] if a != '--update'] or ['cc']
    lines = layout(compiler)
    major, minor = version(lines)
    current = GOLDEN / f'{major}.{minor}.txt'
    if '--update' in sys.argv:
        GOLDEN.mkdir(exist_ok=True)
        current.write_text('\n'.join(lines) + '\n')
        return 0
    if lines != layout(compiler, '-fshort-enums'):
        print('BREAK: the layout depends on -fshort-enums: an enum type crosses the border')
        return 1
    if len(lines) < 100 or not current.exists():
        print(f'{len(lines)} lines; {current} is missing' if len(lines) >= 100 else f'{len(lines)} lines: nothing was read')
        return 1
    wrong = forbidden(lines)
    for line in wrong:
        print(f'NO FIXED WIDTH: {line}')
    releases = [current] if major == 0 else sorted(GOLDEN.glob(f'{major}.*.txt'))
    verdict = bool(wrong)
    for golden in releases:
        gone, new = compare(golden, lines)
        for line in gone:
            print(f'BREAK  {golden.name}: {line}')
        for line in new if golden == current else []:
            print(f'GROWTH {golden.name}: {line}')
        verdict |= bool(gone) or (golden == current and bool(new))
    if f'## {major}.{minor}' not in (SOURCE / 'abi' / 'CHANGELOG.md').read_text():
        print(f'abi/CHANGELOG.md does not mention {major}.{minor}')
        verdict = 1
    if verdict:
        print(f'If the change is meant: a line in abi/CHANGELOG.md and tests/abi/{pathlib.Path(__file__).name} --update')
    return int(verdict)


sys.exit(main())
