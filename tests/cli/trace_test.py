#!/usr/bin/env python3
"""plan --trace and train --trace: trace events as https://perfetto.dev/docs/getting-started/other-formats describes them."""
import collections
import json
import unittest

from program import TOKENS, ProgramTest

PLAN, MEASURED = 1, 2  # processes

FOUR = TOKENS.replace('use = ["cpu:0", "cpu:1"]', 'use = ["cpu:{0..3}"]').replace('micro_batches = 2', 'micro_batches = 4')


class Events:
    """The events of one process."""

    def __init__(self, text, process):
        # As written: nanoseconds behind the point, so that nothing is lost.
        self.events = [e for e in json.loads(text)['traceEvents'] if e['pid'] == process]
        self.threads = {e['tid']: e['args']['name'] for e in self.events if e['name'] == 'thread_name'}
        self.spans = [e for e in self.events if e['ph'] == 'X']
        self.actions = [e for e in self.spans if e['cat'] != 'transfer']
        self.transfers = [e for e in self.spans if e['cat'] == 'transfer']
        self.counters = [e for e in self.events if e['ph'] == 'C']

    def of(self, device, events=None):
        return [e for e in (self.actions if events is None else events) if self.threads[e['tid']] == device]

    def names(self, events):
        """Thread and name of each, in order: what a plan and its measurement have in common."""
        return sorted((self.threads[e['tid']].split(' ')[0], e['name'], e['args'].get('stage'), e['args'].get('edge')) for e in events)


class Trace(ProgramTest):
    def plan(self, text=FOUR, *sets):
        self.write('trace.toml', text)
        arguments = [part for key in sets for part in ('--set', key)]
        self.succeeds('plan', 'trace.toml', *arguments, '--json', 'plan.json', '--trace', 'plan.trace.json')
        return Events((self.folder / 'plan.trace.json').read_text(), PLAN), json.loads((self.folder / 'plan.json').read_text())

    def train(self, steps, *sets):
        arguments = [part for key in (f'train.steps={steps}', *sets) for part in ('--set', key)]
        self.succeeds('train', 'trace.toml', *arguments, '--out', 'run', '--trace', 'run.trace.json')
        text = (self.folder / 'run.trace.json').read_text()
        return Events(text, PLAN), Events(text, MEASURED)

    def check_form(self, events):
        self.assertTrue(events.spans and events.counters)
        ends = collections.defaultdict(int)
        for e in events.spans:
            self.assertIn(e['tid'], events.threads)
            begin, length = round(e['ts'] * 1000), round(e['dur'] * 1000)
            self.assertGreaterEqual(length, 0)
            self.assertGreaterEqual(begin, ends[e['tid']], f'{e}: begins before the one before it on its thread ends')
            ends[e['tid']] = begin + length
        for name in {e['name'] for e in events.counters}:
            times = [e['ts'] for e in events.counters if e['name'] == name]
            self.assertEqual(times, sorted(times))

    def test_every_action_once_in_order_and_the_sums_are_the_prediction(self):
        events, plan = self.plan()
        self.check_form(events)
        step = plan['prediction']['step_s']
        last = 0
        for d, device in enumerate(plan['devices']):
            actions = events.of(device['name'])
            self.assertEqual([[e['name'].split()[0], e['args']['stage'], e['args']['micro_batch']] for e in actions], device['program'])
            self.assertTrue(all(e['name'].split()[1] == str(e['args']['micro_batch']) for e in actions))
            busy = sum(e['dur'] for e in actions) * 1e-6
            self.assertAlmostEqual(busy, (1 - plan['prediction']['idle'][d]) * step, delta=1e-9 * (len(actions) + 1))
            last = max([last] + [e['ts'] + e['dur'] for e in actions])
            bytes = [e['args']['bytes'] for e in events.counters if e['name'] == 'bytes on ' + device['name']]
            self.assertEqual(max(bytes), device['memory']['peak'])
        self.assertAlmostEqual(last * 1e-6, step, delta=2e-9)
        crossing = [e for e in plan['edges'] if e['capacity'] > 0]
        self.assertEqual(len(events.transfers), len(crossing) * plan['micro_batches']['count'])
        for e in events.transfers:
            edge = plan['edges'][e['args']['edge']]
            self.assertAlmostEqual(e['dur'] * 1e-6, edge['travel_s'], delta=2e-9)
            way = [plan['stages'][edge[side]]['device'] for side in ('from', 'to')]
            self.assertEqual(events.threads[e['tid']], ' to '.join(way))

    def test_what_was_measured_has_the_names_of_the_plan(self):
        planned, plan = self.plan(FOUR, 'train.batch=8', 'train.accumulate=2')
        again, measured = self.train(9, 'train.batch=8', 'train.accumulate=2')
        self.check_form(measured)
        self.assertEqual(again.names(again.spans), planned.names(planned.spans))
        self.assertEqual({e['args']['step'] for e in measured.spans}, {3, 4, 5, 6, 7})
        for step in range(3, 8):
            for number in range(2):
                one = [e for e in measured.spans if (e['args']['step'], e['args']['pass']) == (step, number)]
                self.assertEqual(measured.names(one), planned.names(planned.spans), f'step {step}, pass {number}')
                for device in plan['devices']:
                    order = [e['name'] for e in measured.of(device['name'], one)]
                    self.assertEqual(order, [f'{kind} {m}' for kind, _, m in device['program']])

    def test_a_measured_action_follows_what_it_needs(self):
        _, plan = self.plan()
        _, measured = self.train(3)
        at = {(e['name'], e['args']['stage']): e for e in measured.actions}
        self.assertEqual(len(at), len(measured.actions))
        for edge in plan['edges']:
            for m in range(plan['micro_batches']['count']):
                kind = 'F' if edge['direction'] == 'forward' else 'B'
                before, after = (at[f'{kind} {m}', edge[side]] for side in ('from', 'to'))
                self.assertLessEqual(before['ts'] + before['dur'], after['ts'] + 0.002)

    def test_a_short_run_is_traced_too(self):
        self.plan()
        _, measured = self.train(1)
        self.assertEqual({e['args']['step'] for e in measured.spans}, {1})

    def test_a_file_that_cannot_be_written_is_told_before_training(self):
        for command in ('plan', 'train'):
            error = self.refused(command, 'tokens.toml', '--trace', 'no/folder/trace.json').errors[0]
            self.assertIn('no/folder/trace.json', error)

    def test_idle_shares_are_reported(self):
        self.succeeds('train', 'tokens.toml', '--out', 'run')
        for line in self.metrics('run'):
            self.assertEqual(list(line['idle']), ['cpu:0', 'cpu:1'])
            self.assertTrue(all(0 <= share < 1 for share in line['idle'].values()), line)


if __name__ == '__main__':
    unittest.main()
