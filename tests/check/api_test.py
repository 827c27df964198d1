#!/usr/bin/env python3
"""sy_plugin_check as a program calls it: lines as they come, the same report twice in one process, structs of an older caller."""
import ctypes
import json
import os
import sys
import unittest

BUILD = os.environ['SWITCHYARD_BUILD']
sy = ctypes.CDLL(os.path.abspath(sys.argv.pop(1)))
Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)


class Options(ctypes.Structure):
    _fields_ = [('size', ctypes.c_uint32), ('n_sets', ctypes.c_uint32), ('sets', ctypes.POINTER(ctypes.c_char_p)),
                ('inputs', ctypes.POINTER(ctypes.c_char_p)), ('n_inputs', ctypes.c_uint32), ('reserved', ctypes.c_uint32),
                ('type', ctypes.c_char_p), ('only', ctypes.c_char_p), ('user', ctypes.c_void_p), ('on_begin', Callback),
                ('on_line', Callback)]


class Api(unittest.TestCase):
    def setUp(self):
        self.runtime = ctypes.c_void_p()
        self.assertEqual(sy.sy_runtime_open(None, ctypes.byref(self.runtime), None), 0)
        self.addCleanup(sy.sy_runtime_close, self.runtime)

    def check(self, path, **fields):
        """The report, the lines, and the checks that were begun."""
        lines, begun, given = [], [], ctypes.c_char_p()
        options = Options(size=ctypes.sizeof(Options), on_begin=Callback(lambda _, text: begun.append(text.decode())),
                          on_line=Callback(lambda _, text: lines.append(text.decode())), **fields)
        file = os.path.join(BUILD, path).encode()
        self.assertEqual(sy.sy_plugin_check(self.runtime, file, ctypes.byref(options), ctypes.byref(given), None), 0)
        report = json.loads(given.value)
        sy.sy_free(given)
        return report, lines, begun

    def test_every_kind_twice(self):
        for path in ('plugins/sy-policy-contiguous.so', 'plugins/sy-schedule-1f1b.so', 'plugins/sy-optimizer-adam.so',
                     'tests/plugins/plain/sy-layer-plain.so'):
            report, lines, begun = self.check(path)
            self.assertEqual(report['failed'], 0, lines)
            checks = [(s, c) for s in report['subjects'] for c in s['checks']]
            self.assertEqual(len(lines), len(checks) + len(report['subjects']))
            self.assertEqual([b.rsplit(': ', 1)[1] for b in begun], [c['check'] for _, c in checks])
            self.assertEqual(self.check(path), (report, lines, begun))

    def test_options(self):
        sets = (ctypes.c_char_p * 1)(b'out=3')
        report, _, _ = self.check('tests/plugins/plain/sy-layer-plain.so', only=b'plain_linear', n_sets=1, sets=sets)
        self.assertEqual([s['with'] for s in report['subjects']], ['out = 3, input 4x8 fp32'])

    def test_a_short_struct_and_no_outputs(self):
        options = Options(size=8)
        path = os.path.join(BUILD, 'plugins/sy-schedule-gpipe.so').encode()
        self.assertEqual(sy.sy_plugin_check(self.runtime, path, ctypes.byref(options), None, None), 0)

    def test_counts_without_lists(self):
        options = Options(size=ctypes.sizeof(Options), n_inputs=2)
        path = os.path.join(BUILD, 'plugins/sy-schedule-gpipe.so').encode()
        self.assertEqual(sy.sy_plugin_check(self.runtime, path, ctypes.byref(options), None, None), 3)


unittest.main()
