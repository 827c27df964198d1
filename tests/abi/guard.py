#!/usr/bin/env python3
"""The guard of the ABI is itself tried out: changes of the headers that would break a plugin or a program make layout.py fail and
are named, growth asks for a new golden file, and a plugin built against changed headers is refused."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ['SWITCHYARD_SOURCE'])
BUILD = pathlib.Path(os.environ['SWITCHYARD_BUILD'])
COMPILER = sys.argv[1:] or ['cc']

PLUGIN = r'''
#include <switchyard/plugin.h>
#include <switchyard/schedule.h>
SY_PLUGIN_NOTE("test.guard");
static sy_rc create(const sy_host *h, const sy_config *c, sy_schedule **give, sy_error **err) {
  (void)h, (void)c, (void)err;
  *give = (sy_schedule *)1;
  return SY_OK;
}
static sy_rc plan(sy_schedule *s, const sy_schedule_in *in, sy_error **err) { (void)s, (void)in, (void)err; return SY_OK; }
static void destroy(sy_schedule *s) { (void)s; }
static sy_rc attach(const sy_host *h, sy_error **err) { (void)h, (void)err; return SY_OK; }
static const sy_schedule_api api = {.size = sizeof api, .id = "guard", .help = "none", .create = create, .plan = plan, .destroy = destroy};
static const sy_export exports[] = {{SY_KIND_SCHEDULE, &api}};
extern const sy_plugin sy_plugin_v1;
const sy_plugin sy_plugin_v1 = {SY_PLUGIN_MAGIC, sizeof(sy_plugin), SY_ABI_MAJOR, SY_ABI_MINOR, "test.guard", "1", exports, 1, 0, attach};
'''


class Guard(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        shutil.copytree(SOURCE / 'abi', self.root / 'abi')

    def change(self, header, old, new):
        path = self.root / 'abi/include/switchyard' / header
        text = path.read_text()
        changed = re.sub(old, new, text, count=1, flags=re.S)
        self.assertNotEqual(text, changed, f'{header} has no {old}')
        path.write_text(changed)

    def layout(self):
        return subprocess.run([sys.executable, SOURCE / 'tests/abi/layout.py', *COMPILER], capture_output=True, text=True, check=False,
                              env={**os.environ, 'SWITCHYARD_SOURCE': str(self.root)})

    def breaks(self, header, old, new, named):
        self.change(header, old, new)
        done = self.layout()
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout, rf'BREAK .*{named}')

    def test_the_headers_as_they_are(self):
        self.assertEqual(self.layout().returncode, 0)

    def test_two_slots_that_change_places(self):
        self.breaks('schedule.h', r'(  sy_rc \(\*create\)[^;]*;[^\n]*\n)(  sy_rc \(\*plan\)[^;]*;[^\n]*\n)', r'\2\1', 'sy_schedule_api')

    def test_a_slot_with_another_signature(self):
        self.breaks('schedule.h', r'\(\*plan\)\(sy_schedule \*,', '(*plan)(sy_schedule *, int32_t,', 'plan')

    def test_a_field_that_is_gone(self):
        self.breaks('schedule.h', r'  uint32_t n_options;\n', '', 'sy_schedule_api')

    def test_a_field_of_another_type(self):
        self.breaks('switchyard.h', r'int64_t at_most;', 'int32_t at_most;', 'at_most')

    def test_a_constant_with_another_value(self):
        self.breaks('schedule.h', r'SY_ACT_F = 1', 'SY_ACT_F = 9', 'SY_ACT_F')

    def test_a_new_field_asks_for_a_new_golden_file(self):
        self.change('schedule.h', r'(  void \(\*destroy\)[^;]*;[^\n]*\n)', r'\1  void (*later)(void);\n')
        done = self.layout()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('GROWTH', done.stdout)

    def plugins(self):
        source, plugin = self.root / 'guard.c', self.root / 'sy-schedule-guard.so'
        source.write_text(PLUGIN)
        subprocess.run([*COMPILER, '-shared', '-fPIC', f'-I{self.root}/abi/include', source, '-o', plugin], check=True)
        return subprocess.run([BUILD / 'switchyard', 'plugins'], capture_output=True, text=True, check=True,
                              env={**os.environ, 'SWITCHYARD_PLUGIN_PATH': str(self.root)}).stdout

    def test_a_plugin_of_these_headers_loads(self):
        self.assertRegex(self.plugins(), r'(?m)^.*guard(?!.*skipped).*$')
        self.assertNotIn('sizeof', self.plugins())

    def test_a_plugin_of_the_next_minor_is_refused_while_the_major_is_0(self):
        self.change('base.h', r'define SY_ABI_MINOR (\d+)', lambda m: f'define SY_ABI_MINOR {int(m[1]) + 1}')
        self.assertRegex(self.plugins(), r'guard.*\n?.*ABI 0\.\d')

    def test_a_plugin_whose_table_lost_a_slot_is_refused(self):
        self.change('schedule.h', r'  uint32_t n_options;\n  uint32_t reserved;\n', '')
        self.assertRegex(self.plugins(), r'guard[^\n]*\n?[^\n]*bytes')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
