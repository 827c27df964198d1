#!/usr/bin/env python3
"""What `switchyard new` writes and refuses; tests/examples builds and uses it."""
import os
import pathlib
import unittest

from program import ProgramTest

TEMPLATES = pathlib.Path(os.environ['SWITCHYARD_SOURCE']) / 'core/cli/templates'


class New(ProgramTest):
    def test_a_project_is_its_template_under_another_name(self):
        for kind, template, flags in (('layer', 'layer', ()), ('layer', 'torch_layer', ('--torch',)), ('policy', 'policy', ()),
                                      ('schedule', 'schedule', ()), ('optimizer', 'optimizer', ())):
            name = 'of_' + template
            out = self.succeeds('new', kind, name, *flags).out
            written = {path.name: path.read_text() for path in (self.folder / name).iterdir()}
            expected = {path.name.replace('my_' + kind, name): path.read_text().replace('my_' + kind, name)
                        for folder in (template, 'common') for path in (TEMPLATES / folder).iterdir()}
            self.assertEqual(written, expected)
            self.assertIn(f'switchyard check {name}/build/sy-{kind}-{name}.so', out)

    def test_another_folder(self):
        self.succeeds('new', 'policy', 'mine', '--folder', 'deep/inside')
        self.assertTrue((self.folder / 'deep/inside/mine.cpp').exists())
        self.assertFalse((self.folder / 'mine').exists())

    def test_an_existing_folder_is_left_alone(self):
        (self.folder / 'mine').mkdir()
        self.assertIn('mine exists; nothing was written', self.refused('new', 'layer', 'mine').errors[0])
        self.assertEqual(list((self.folder / 'mine').iterdir()), [])
        self.assertIn('book.txt exists', self.refused('new', 'layer', 'mine', '--folder', 'book.txt').errors[0])

    def test_names(self):
        for name in ('My_layer', '1st', 'a-b', 'a b', '../up', '', '_x', 'x' * 64, 'größe'):
            self.assertIn('is no name for a plugin; wanted lower-case letters', self.refused('new', 'layer', name).errors[0])
        self.assertIn("something is called 'plain_linear' already", self.refused('new', 'layer', 'plain_linear').errors[0])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ['book.txt', 'tokens.toml'])

    def test_kinds(self):
        self.assertIn("'backend' is no kind of plugin; known: layer, policy", self.refused('new', 'backend', 'mine').errors[0])
        self.assertIn('--torch is for layers', self.refused('new', 'policy', 'mine', '--torch').errors[0])
        self.assertIn('NAME', self.refused('new', 'layer').errors[0])

    def test_a_folder_that_cannot_be_made(self):
        self.refused('new', 'layer', 'mine', '--folder', 'book.txt/inside')


unittest.main()
