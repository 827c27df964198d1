#!/usr/bin/env python3
"""A placement policy in Python: cuts where the devices have equal work, then asks the core whether moving a cut helps.

    even_time.py [CONFIG] [KEY=VALUE ...]
"""
import pathlib
import sys

from switchyard import Code, Error, Runtime
from switchyard.plugin import Option, Placement, Plugin, Policy


class EvenTime(Policy):
    id = "even_time"
    help = "neighbours together, cut where the devices have equal work; then the cuts are moved while that helps"
    options = [Option("moves", 100, "most cuts moved", minimum=0, maximum=10000)]

    def place(self, problem):
        ends = self.first_cuts(problem)
        best, tried = self.judged(problem, ends), 1
        while tried <= self.moves:
            candidates = [self.judged(problem, moved) for moved in neighbours(ends)]
            tried += len(candidates)
            better = min(candidates, default=best, key=lambda c: c[0])
            if better[0] >= best[0]:
                break
            best, ends = better, better[2]
        (missing, seconds), placement, _ = best
        if missing:
            raise Error(Code.INFEASIBLE, "no cut that was tried fits the budgets")
        placement.why = f"equal work, then cuts moved: {tried} placements judged, {1e3 * seconds:.3g} ms a step"
        return placement

    def first_cuts(self, problem):
        """Where each device's layers end, for equal shares of the time."""
        times = [sum(problem.seconds(i, 0)) for i in range(len(problem.layers))]
        n, k = len(times), min(len(problem.devices), len(times))
        ends, sum_ = [], 0.0
        for i, time in enumerate(times):
            sum_ += time
            left = k - len(ends) - 1
            if left and (sum_ >= sum(times) * (len(ends) + 1) / k or n - i - 1 == left):
                ends.append(i + 1)
        return ends + [n]

    def judged(self, problem, ends):
        """(Bytes that do not fit, seconds of a step), the placement, its cuts."""
        stages = [sum(i >= end for end in ends) for i in range(len(problem.layers))]
        placement = Placement(stages, list(range(len(ends))))
        evaluation = problem.evaluate(placement)
        return (evaluation.misfit_bytes, evaluation.step_s), placement, ends


def neighbours(ends):
    """The same cuts, one of them moved by a layer."""
    for i in range(len(ends) - 1):
        for end in ends[i] - 1, ends[i] + 1:
            moved = ends[:i] + [end] + ends[i + 1:]
            if all(a < b for a, b in zip([0] + moved, moved)):
                yield moved


PLUGIN = Plugin("org.example.even_time", [EvenTime])


def main(config=pathlib.Path(__file__).with_name("policy_in_python.toml"), *sets):
    with Runtime(config, sets) as runtime:
        runtime.register(PLUGIN)
        with runtime.plan() as plan:
            print(plan, end="")
        runtime.train(files=False, on_report=lambda report: print(f"step {report.step}  loss {report.loss!r}"))


if __name__ == "__main__":
    main(*sys.argv[1:])
