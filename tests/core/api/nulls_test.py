#!/usr/bin/env python3
"""Every function of switchyard.h with every pointer NULL in turn, the other arguments being sound: a code, never a crash.

nulls_test.py LIBRARY. The functions and their arguments are read from the header, so that a new one is covered by itself.
"""
import ctypes
import os
import pathlib
import re
import sys
import tempfile

HEADER = pathlib.Path(os.environ['SWITCHYARD_SOURCE']) / 'abi/include/switchyard/switchyard.h'
ARGUMENT, OK = 3, 0
CONFIG = b'''
[model]
input = { shape = [3] }
[[layer]]
type = "plain_linear"
name = "a"
out = 4
[[layer]]
type = "plain_cross_entropy"
[devices]
use = "cpu:0"
[train]
batch = 2
steps = 2
optimizer = { type = "sgd", lr = 0.1 }
'''
# NULL stands for something in these: (function, parameter).
OPTIONAL = {('sy_runtime_open', 'options'), ('sy_plan_stage_of_layer', 'out'), ('sy_plan_device_name', 'lend'),
            ('sy_pipe_micro_losses', 'out'), ('sy_describe', 'name'), ('sy_pipe_step', 'result'), ('sy_pipe_evaluate', 'result'),
            ('sy_train', 'options'), ('sy_generate', 'options'), ('sy_bench', 'options'), ('sy_inspect', 'path'), ('sy_tensor_from_dlpack', 'stream'),
            ('sy_plugin_check', 'options')}
JOBS = {'sy_train', 'sy_evaluate', 'sy_generate', 'sy_compare', 'sy_inspect', 'sy_plan_sweep', 'sy_bench',  # their text need not be wanted
        'sy_plugin_check'}

lib = ctypes.CDLL(os.path.abspath(sys.argv[1]))
failures = []


def functions():
    """(result, name, [(type, name)]) of each declaration."""
    text = re.sub(r'/\*.*?\*/', '', HEADER.read_text(), flags=re.S)
    text = text.replace('void (*sink)(void *user, int32_t level, const char *where, const char *text)', 'void *sink')
    for result, name, arguments in re.findall(r'SY_EXPORT\s+([^;(]*?)\b(sy_\w+)\(([^)]*)\);', text):
        parsed = []
        for i, argument in enumerate(a.strip() for a in arguments.split(',') if a.strip() != 'void'):
            match = re.match(r'(.*[ *])(\w+)$', argument)
            anonymous = argument.endswith('*') or not match or argument.startswith('sy_rc')
            kind, called = (argument, f'#{i}') if anonymous else (match[1].strip(), match[2])
            parsed.append((kind.replace(' ', ''), called))
        yield result.strip(), name, parsed


class Options(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32), ('n_sets', ctypes.c_uint32), ('config', ctypes.c_char_p), ('text', ctypes.c_char_p),
                ('folder', ctypes.c_char_p), ('sets', ctypes.c_void_p), ('rank', ctypes.c_int32), ('ranks', ctypes.c_int32),
                ('rendezvous', ctypes.c_char_p)]


class View(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('type', ctypes.c_int32), ('index', ctypes.c_int32), ('ndim', ctypes.c_int32),
                ('code', ctypes.c_uint8), ('bits', ctypes.c_uint8), ('lanes', ctypes.c_uint16), ('shape', ctypes.c_void_p),
                ('strides', ctypes.c_void_p), ('byte_offset', ctypes.c_uint64)]


class Sound:
    """Arguments that are in order, by type."""

    def __init__(self):
        self.keep = []
        self.runtime, self.plan, self.pipe = (ctypes.c_void_p() for _ in range(3))
        options = Options(size=ctypes.sizeof(Options), text=CONFIG)
        assert lib.sy_runtime_open(ctypes.byref(options), ctypes.byref(self.runtime), None) == OK
        assert lib.sy_plan_make(self.runtime, ctypes.byref(self.plan), None) == OK
        assert lib.sy_pipe_build(self.plan, ctypes.byref(self.pipe), None) == OK
        data = (ctypes.c_float * 6)(*range(6))
        shape = (ctypes.c_int64 * 2)(2, 3)
        strides = (ctypes.c_int64 * 2)(3, 1)
        self.view = View(ctypes.addressof(data), 1, 0, 2, 2, 32, 1, ctypes.addressof(shape), ctypes.addressof(strides), 0)
        self.tensor = ctypes.c_void_p()
        assert lib.sy_pipe_forward(self.pipe, ctypes.byref(self.view), 0, ctypes.byref(self.tensor), None) == OK
        self.keep += [data, shape, strides]

    def argument(self, kind):
        handles = {'sy_runtime*': self.runtime, 'sy_plan*': self.plan, 'sy_pipe*': self.pipe, 'sy_tensor*': self.tensor}
        if kind in handles:
            return handles[kind]
        if kind == 'constsy_view*':
            return ctypes.byref(self.view)
        if kind == 'constchar*':
            return ctypes.c_char_p(b'a.weight')
        if kind.endswith('*'):  # an output, or a struct whose size is 8 at first and zero otherwise
            block = ctypes.create_string_buffer(512)
            block[0] = b'\0' if kind.endswith('**') else b'\x08'
            self.keep.append(block)
            return block
        return ctypes.c_uint64(1) if '64' in kind else ctypes.c_uint32(1)


def check(result, name, arguments):
    function = getattr(lib, name)
    function.restype = ctypes.c_int32 if result == 'sy_rc' else ctypes.c_void_p
    closes = name.endswith(('_close', '_free', '_drop')) or name == 'sy_free'
    everything = [None if kind.endswith('*') else sound.argument(kind) for kind, _ in arguments]
    code = function(*everything)  # all of them NULL
    if result == 'sy_rc' and name not in ('sy_runtime_open', 'sy_error_code') and code != ARGUMENT:
        failures.append(f'{name} with NULL everywhere: code {code}')
    if closes:
        return
    for i, (kind, called) in enumerate(arguments):
        if not kind.endswith('*') or name in ('sy_log_sink', 'sy_plugin_register', 'sy_tensor_from_dlpack'):
            continue
        values = [None if j == i else sound.argument(k) for j, (k, _) in enumerate(arguments)]
        code = function(*values)
        needed = kind != 'sy_error**' and (name, called) not in OPTIONAL and not (name in JOBS and kind == 'char**')
        if result == 'sy_rc' and name != 'sy_error_code' and needed and code != ARGUMENT:
            failures.append(f'{name} with {called} NULL: code {code}')


everything = list(functions())
with tempfile.TemporaryDirectory() as folder:  # what is saved goes there
    os.chdir(folder)
    sound = Sound()
    for one in everything:
        check(*one)
    os.chdir('/')
listed = {name for _, name, _ in everything}
exported = set(re.findall(r'\b(sy_\w+)\(', re.sub(r'/\*.*?\*/', '', HEADER.read_text(), flags=re.S)))
if listed != exported:
    failures.append(f'not read from the header: {exported ^ listed}')
print('\n'.join(failures) or f'{len(everything)} functions')
sys.exit(bool(failures))
