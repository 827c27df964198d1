#!/usr/bin/env python3
"""switchyard plan --html: what the page holds, and what a browser makes of it."""
import html
import html.parser
import json
import os
import pathlib
import re
import unittest

import browser
from program import TOKENS, ProgramTest

CSS = pathlib.Path(os.environ['SWITCHYARD_SOURCE']) / 'core/plan/page/page.css'
FOUND = browser.find()

# Four devices with budgets, and an output that two layers read.
FOUR = TOKENS.replace('use = ["cpu:0", "cpu:1"]', 'use = ["cpu:{0..3}"]\nmemory = "1MiB"').replace('micro_batches = 2', 'micro_batches = 4')


def embedded(page, name):
    return re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page, re.DOTALL).group(1)


class Numbers(html.parser.HTMLParser):
    """Every <data data-name=... value=...> of a page, with the text that people see; where a name occurs, it means one number."""

    def __init__(self, page):
        super().__init__()
        self.values, self.texts, self.inside = {}, {}, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        if tag != 'data':
            return
        found = dict(attributes)
        self.inside = found['data-name']
        assert self.inside not in self.values, f'{self.inside} stands in the page twice'
        self.values[self.inside], self.texts[self.inside] = float(found['value']), ''

    def handle_data(self, text):
        if self.inside:
            self.texts[self.inside] += text

    def handle_endtag(self, tag):
        if tag == 'data':
            self.inside = None


class PageTest(ProgramTest):
    def page_of(self, text, *sets, file='page.toml'):
        """The page and the JSON of a configuration."""
        self.write(file, text)
        arguments = [part for key in sets for part in ('--set', key)]
        self.succeeds('plan', file, *arguments, '--json', 'page.json', '--html', 'page.html')
        return self.folder / 'page.html', (self.folder / 'page.json').read_text()


class Page(PageTest):
    def test_holds_the_json_and_needs_no_other_file(self):
        page, plan = self.page_of(TOKENS)
        text = page.read_text()
        self.assertEqual(embedded(text, 'plan-json'), plan)
        self.assertIn("default-src 'none'", text)
        for address in re.findall(r'(?:src|href)="([^"]*)"', text):
            self.assertTrue(address.startswith('data:'), address)
        self.assertNotRegex(text, r'@import|url\((?!#hatch)')
        self.assertIn('<title>page</title>', text)

    def test_a_name_cannot_leave_its_place(self):
        page, _ = self.page_of(TOKENS, file='<b>"&amp; ü.toml')
        self.assertIn('<title>&lt;b>"&amp;amp; ü</title>', page.read_text())

    def test_timeline_has_every_action_once_and_adds_up(self):
        page, plan = self.page_of(FOUR)
        plan, timeline = json.loads(plan), json.loads(embedded(page.read_text(), 'timeline-json'))
        self.assertAlmostEqual(timeline['seconds'] * plan['micro_batches']['passes'], plan['prediction']['step_s'])
        self.assertEqual(timeline['left_out'], 0)
        for device, lane in zip(plan['devices'], timeline['devices'], strict=True):
            self.assertEqual([a[:3] for a in lane['actions']], device['program'])
            busy = sum(a[4] - a[3] for a in lane['actions'])
            self.assertAlmostEqual(1 - busy / timeline['seconds'], plan['prediction']['idle'][device['index']])
            self.assertEqual(max(bytes for _, bytes in lane['memory']), device['memory']['peak'])

    def test_a_file_that_cannot_be_written(self):
        error = self.refused('plan', 'tokens.toml', '--html', 'no/folder/page.html').errors[0]
        self.assertIn("--html: 'no/folder/page.html' cannot be written", error)
        self.assertIn('--sweep', self.refused('plan', 'tokens.toml', '--html', 'page.html', '--sweep').errors[0])


class Colours(unittest.TestCase):
    """Contrast as WCAG 2 defines it: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio"""

    @staticmethod
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(self, a, b):
        low, high = sorted([self.luminance(a), self.luminance(b)])
        return (high + 0.05) / (low + 0.05)

    def test_contrast(self):
        light, dark = (dict(re.findall(r'--([\w-]+): (#\w{6})', block)) for block in re.findall(r':root \{(.*?)\}', CSS.read_text(), re.DOTALL)[:2])
        self.assertGreater(len(dark), 20)
        for theme in (light, light | dark):
            texts = [(t, g) for t in ('ink', 'quiet', 'accent', 'warm') for g in ('paper', 'panel')]
            texts += [('on-action', kind) for kind in 'FBIWR'] + [('warm', 'warm-panel'), ('ink', 'warm-panel')]
            shapes = [(shape, 'paper') for shape in ('F', 'B', 'I', 'W', 'R', 'transfer', 'weights', 'masters', 'gradients', 'states', 'activations', 'edges')]
            for pairs, least in ((texts, 4.5), (shapes, 3)):
                for above, below in pairs:
                    self.assertGreaterEqual(self.contrast(theme[above], theme[below]), least, f'{above} on {below}')


class InBrowser(PageTest):
    loaded = {}  # what a browser made of a page, loaded once for all tests

    def setUp(self):
        if not FOUND:
            self.skipTest('no browser')
        super().setUp()
        self.browser = browser.Browser(FOUND)

    def seen(self, *of):
        """The page after its script ran, its numbers, and the plan's JSON."""
        if of not in self.loaded:
            page, plan = self.page_of(*of)
            dom, console = self.browser.dom(page)
            self.assertEqual(console, [])
            self.loaded[of] = dom, Numbers(dom), json.loads(plan)
        return self.loaded[of]

    def test_numbers_are_those_of_the_json(self):
        _, numbers, plan = self.seen(FOUR)
        values = dict(numbers.values)

        def expect(name, value):
            self.assertEqual(values.pop(name), value, name)

        expect('step_s', plan['prediction']['step_s'])
        expect('fullest', max(d['memory']['peak'] for d in plan['devices']))
        idle = plan['prediction']['idle']
        self.assertAlmostEqual(values.pop('idle_mean'), sum(idle) / len(idle))
        seconds = plan['prediction']['step_s'] / plan['micro_batches']['passes']
        for d, device in enumerate(plan['devices']):
            expect(f'idle.{d}', idle[d])
            expect(f'program.{d}', idle[d])
            expect(f'actions.{d}', len(device['program']))
            for name in ('peak', 'memory_peak'):
                expect(f'{name}.{d}', device['memory']['peak'])
            for name in ('budget', 'memory_budget'):
                expect(f'{name}.{d}', device['budget'])
            for part in ('weights', 'masters', 'gradients', 'states', 'edges', 'activations'):
                expect(f'{part}.{d}', device['memory'][part])
            waits = [values.pop(f'{part}.{d}') for part in ('start', 'between', 'end')]
            self.assertAlmostEqual(sum(waits) / seconds, idle[d])
            self.assertAlmostEqual(values.pop(f'busy.{d}') / seconds, 1 - idle[d])
        self.assertTrue(any(e['capacity'] > 0 for e in plan['edges']))
        for edge in plan['edges']:
            if edge['capacity'] > 0:
                for key in ('bytes', 'travel_s', 'capacity'):
                    expect(f"{key}.{edge['index']}", edge[key])
        for i, layer in enumerate(plan['layers']):
            cost = layer['cost']
            for key in ('flops_forward', 'saved', 'workspace'):
                expect(f'{key}.{i}', cost[key])
            expect(f'flops_backward.{i}', cost['flops_input'] + cost['flops_weight'])
            self.assertAlmostEqual(values.pop(f'layer_s.{i}'), cost['forward_s'] + cost['input_s'] + cost['weight_s'])
        self.assertAlmostEqual(sum(values.pop(f'share.{i}') for i in range(len(plan['layers']))), 1)
        self.assertEqual(values, {}, 'numbers that nothing was compared with')

    def test_texts_are_those_of_the_table(self):
        _, numbers, _ = self.seen(FOUR)
        self.write('page.toml', FOUR)
        table = self.succeeds('plan', 'page.toml').out
        for d in range(4):
            row = next(line for line in table.splitlines() if line.startswith(f'cpu:{d} '))
            self.assertIn(numbers.texts[f'peak.{d}'], row)
            self.assertIn(numbers.texts[f'idle.{d}'], row)

    def test_pictures_have_a_row_for_each_device_and_a_number_for_each_micro_batch(self):
        dom, _, plan = self.seen(FOUR)
        self.assertEqual(len(re.findall(r'<rect class="lane"', dom)), 4)
        self.assertEqual(len(re.findall(r'class="area"', dom)), 4)
        self.assertIn('class="budget"', dom)
        for micro_batch in range(plan['micro_batches']['count']):
            self.assertTrue(re.search(rf'<text class="inside"[^>]*>{micro_batch}</text>', dom), micro_batch)
        self.assertEqual(len(re.findall(r'<svg height="\d+" role="img" aria-label="[^"]+', dom)), 2)

    def test_why_warnings_and_notes(self):
        dom, _, plan = self.seen(TOKENS, 'placement.policy=round_robin')
        self.assertTrue(plan['warnings'] and plan['notes'] and plan['why'])
        for remark in [plan['why'], *plan['warnings'], *plan['notes']]:
            self.assertIn(html.escape(remark, quote=False) + '</p>', dom)

    def test_more_than_can_be_drawn_is_left_out_and_said(self):
        deep = TOKENS.replace('repeat = 2', 'repeat = 49').replace('use = ["cpu:0", "cpu:1"]', 'use = ["cpu:{0..99}"]')
        dom, _, plan = self.seen(deep, 'train.batch=300', 'schedule.micro_batches=300')
        self.assertEqual(sum(len(d['program']) for d in plan['devices']), 60000)
        drawn, of, left = map(int, re.search(r'Drawn are (\d+) devices of (\d+); (\d+) devices are left out', dom).groups())
        self.assertEqual((of, drawn + left), (100, 100))
        self.assertEqual(len(re.findall(r'<rect class="lane"', dom)), drawn)
        self.assertTrue(re.search(r'36 of 100 rows are left out; show all', dom))

    def test_light_and_dark(self):
        page, _ = self.page_of(TOKENS)
        papers = re.findall(r'--paper: (#\w{6})', CSS.read_text())
        self.assertEqual([self.browser.corner(page, dark) for dark in (False, True)], papers)

    def test_this_test_sees_a_broken_page(self):
        page, _ = self.page_of(TOKENS)
        page.write_text(page.read_text().replace('fillGlance(plan);', 'fillNothing(plan);'))
        self.assertTrue(self.browser.dom(page)[1])


if __name__ == '__main__':
    if not FOUND:
        print('[skipped] no browser: none of ' + ', '.join(browser.NAMES) + ' starts; .ci/setup --browser installs one on Debian', flush=True)
    unittest.main()
