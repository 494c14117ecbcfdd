"""Small studies that the tests of sweeps share."""

import numpy as np

import tutelage as tl

ONE = tl.Committee(1, tl.Erf())
SCENARIO = tl.Scenario(ONE, ONE)
START = tl.Overlaps(Q=[[0.25]], R=[[0.1]], T=[[1.0]])
FIXED = {"scenario": SCENARIO, "start": START, "until": 4.0, "times": [0.0, 2.0, 4.0]}
GRID = {"learning_rate": [0.3, 0.5, 1.0], "weight_decay": [0.0, 0.01]}


def study(over=GRID, function=tl.online.evolve, **options):
    """A sweep in this process."""
    given = FIXED if function is tl.online.evolve else {}
    return tl.sweeps.run(function, over, **{"workers": 1, **given, **options})


def error_at(learning_rate, weight_decay, runs=8):
    """ε_g at the recorded times, by `evolve` itself."""
    scenario = tl.Scenario(ONE, ONE, weight_decay=np.full(runs, weight_decay))
    rates = np.full(runs, learning_rate)
    run = tl.online.evolve(**{**FIXED, "scenario": scenario, "learning_rate": rates})
    return run.generalization_error.values[0]
