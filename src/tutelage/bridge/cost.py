"""Estimate the work and the duration of `predict`.

Processor seconds as measured with JAX 0.10 on two cores.  They are a guide to whether to wait, and
not more: processors differ, and the number of steps of the integration depends on the run.  Tanh
with K = 4, M = 3, both layers, N = 300 and α = 20 took 107 s, estimated 101 s; tanh with
K = M = 2, N = 200 and α = 30 took 35 s, estimated 56 s.
"""

import sys

from tutelage.averages.generalization import is_exact
from tutelage.averages.methods import Conditional, chosen
from tutelage.bridge.comparison import MOST_TIMES, Problem
from tutelage.runs.progress import in_words

# Below the first time the work is announced only if progress is requested; above the second time
# the message says how to shorten it.
SILENT_SECONDS, LONG_SECONDS = 30.0, 180.0
# Compiling the equations and the simulation: units with closed forms, and others.
COMPILE_EXACT, COMPILE_INTEGRATED = 10.0, 40.0
# Steps of the integration: at the start, and per unit of time; right-hand sides per step.
FIRST_STEPS, STEPS_PER_TIME, STAGES = 60, 10, 6
# Time of one right-hand side with numerical averages, per pair of students and field.
SECONDS_PER_PAIR_AND_FIELD = 3e-4
# Time of ε_g of one state with numerical averages, per pair of fields.
SECONDS_PER_PAIR_OF_FIELDS = 1e-4
# Time of one example in one simulated network, per field.
SECONDS_PER_EXAMPLE_AND_FIELD = 1e-7
# Alternatives that are computed if the run deviates: two rates and a batch size.
ALTERNATIVES = 3


def seconds(problem: Problem) -> tuple[float, float]:
    """Estimate the processor time of the verdict, and of each alternative tested after
    a deviation.
    """
    scenario, n = problem.scenario, problem.scenario.K + problem.scenario.M
    until = float(problem.times[-1])
    examples = until * problem.dimension * problem.batch * problem.runs
    work = examples * n * SECONDS_PER_EXAMPLE_AND_FIELD
    units = (scenario.student.activation, scenario.teacher.activation)
    if isinstance(chosen(None, units), Conditional):
        pairs, K = scenario.K * (scenario.K + 1) / 2, scenario.K
        right_hand_sides = STAGES * (FIRST_STEPS + STEPS_PER_TIME * until)
        work += right_hand_sides * pairs * n * SECONDS_PER_PAIR_AND_FIELD
        states = problem.runs * min(MOST_TIMES, len(problem.times))
        work += states * (n**2 - K * scenario.M) * SECONDS_PER_PAIR_OF_FIELDS
    compiling = COMPILE_EXACT if is_exact(scenario) else COMPILE_INTEGRATED
    return compiling + work, work


def announce(problem: Problem, progress: bool | None) -> bool:
    """Print what will be computed and about how long it takes; return whether to show progress."""
    first, each = seconds(problem)
    is_shown = first > SILENT_SECONDS if progress is None else progress
    if progress or (progress is None and is_shown):
        print(f"tutelage: {words(problem, first, each)}", file=sys.stderr, flush=True)
    return is_shown


def words(problem: Problem, first: float, each: float) -> str:
    """Describe the work in one line, or in two if it takes long."""
    scenario, until = problem.scenario, float(problem.times[-1])
    name = scenario.student.activation.name
    layers = "both layers learn" if problem.readout_rate else "the first layer learns"
    steps = round(until * problem.dimension)
    text = (
        f"predict integrates the equations to α = {until:.4g} (K = {scenario.K}, M = "
        f"{scenario.M}, {name}, {layers}) and simulates {problem.runs} networks of N = "
        f"{problem.dimension} inputs for {steps} steps: about {in_words(first)} of processor "
        f"time, and about {in_words(ALTERNATIVES * each)} more if the run departs from the "
        "equations"
    )
    if first < LONG_SECONDS:
        return text
    integrated = "" if is_exact(scenario) else f"{name} units have no closed forms, erf and ReLU do"
    shorter = "a shorter record takes less: record.isel(time=slice(0, n))"
    return f"{text}; {'; '.join(filter(None, (integrated, shorter)))}"
