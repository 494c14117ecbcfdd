"""Every public verb that returns a Dataset writes the same attributes and is computed again.

The table below has a call of each; one that is missing fails a test.
"""

import inspect
from functools import cache
from importlib import import_module

import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage import results
from tutelage._checks import InputError

ROOMS = ("online", "simulation", "equilibrium", "gates", "spectra", "deep", "deep.images")
ONE = tl.Committee(1, tl.Erf())
SCENARIO = tl.Scenario(ONE, ONE, label_noise=0.1)
START = tl.Overlaps(Q=[[0.25]], R=[[0.1]], T=[[1.0]])
SYMMETRIC = tl.online.SymmetricState(Q=0.5, C=0.0, R=0.1, S=0.0)
TIMES = [0.0, 0.5, 1.0]


@cache
def theory():
    return tl.online.evolve(SCENARIO, START, 0.5, until=1.0, times=TIMES)


@cache
def runs(dimension=30):
    options = {"dimension": dimension, "until": 1.0, "runs": 10, "times": TIMES}
    return tl.simulation.chain(SCENARIO, START, 0.5, **options)


ONE_EPOCH = tl.deep.images.Recipe(1, 0.01, batch=8)


def images():
    rng, labels = np.random.default_rng(0), np.arange(16) % 10
    shape = (16, 8, 8, 3)
    train, test = (rng.integers(0, 256, shape, dtype=np.uint8) for _ in range(2))
    return tl.deep.images.Images(train, labels, test, labels)


def quadratic(parameters):
    return 0.5 * parameters @ parameters


CALLS = {
    "online.evolve": theory,
    "online.evolve_symmetric": lambda: tl.online.evolve_symmetric(
        tl.Scenario(ONE, ONE), SYMMETRIC, tl.online.Schedule([0.5, 0.2], [0.5]), until=1.0
    ),
    "online.branch": lambda: tl.online.branch(tl.Scenario(ONE, ONE), solved(), 1.0, until=1.1),
    "online.plateau_over_learning_rates": lambda: tl.online.plateau_over_learning_rates(
        tl.Scenario(ONE, ONE), START, [0.5]
    ),
    "simulation.chain": runs,
    "simulation.network": lambda: tl.simulation.network(
        SCENARIO, START, 0.5, dimension=10, until=1.0, runs=2, inputs="uniform"
    ),
    "simulation.summary": lambda: tl.simulation.summary(runs()),
    "simulation.aligned": lambda: tl.simulation.aligned(runs()),
    "simulation.escape_times": lambda: tl.simulation.escape_times(runs(), height=0.1),
    "simulation.finite_size": lambda: tl.simulation.finite_size(
        theory(), [runs(dimension) for dimension in (30, 60, 120)]
    ),
    "equilibrium.learning_curve": lambda: tl.equilibrium.learning_curve(tl.Erf(), 2, [20.0, 25.0]),
    "equilibrium.phase_diagram": lambda: tl.equilibrium.phase_diagram(
        tl.Swish, [1.0, 2.0], 2, [5.0, 10.0]
    ),
    "equilibrium.sample": lambda: tl.equilibrium.sample(
        tl.Scenario(ONE, ONE), 1.0, dimension=10, sweeps=3, runs=2
    ),
    "equilibrium.hysteresis": lambda: tl.equilibrium.hysteresis(
        tl.Scenario(ONE, ONE), [1.0, 2.0], dimension=10, sweeps=3, runs=2
    ),
    "gates.curves": lambda: tl.gates.curves(tl.gates.Gate([0, 1]), [1.0, 2.0], [-1.0, 1.0]),
    "gates.specialization_loads": lambda: tl.gates.specialization_loads(
        tl.gates.Gate([0, 1]), [1.0], 2
    ),
    "gates.sample_network": lambda: tl.gates.sample_network(
        [np.eye(2)], [0.5, 1.0], tl.gates.Gate([0, 1]), 1.0, samples=4
    ),
    "spectra.train": lambda: tl.spectra.train(
        tl.spectra.Classifier([2, 2, 1], tl.gates.Gate([-1, 1]).signal(2.0)),
        tl.spectra.linear_examples(8),
        epochs=2,
        runs=2,
    ),
    "spectra.density": lambda: tl.spectra.density(quadratic, np.ones(3), probes=2),
    "deep.train": lambda: tl.deep.train(
        2, [1, 2], inputs=4, outputs=3, epochs=2, examples=64, evaluation=50, runs=2
    ),
    "deep.online_deviation": lambda: tl.deep.online_deviation(
        tl.Scenario(*[tl.Committee(1, tl.ReLU())] * 2), START, 0.5, dimension=10, until=1, runs=2
    ),
    "deep.images.train_on_images": lambda: tl.deep.images.train_on_images(
        images(), "2-2", (1,), **dict.fromkeys(("pretraining", "tuning", "learning"), ONE_EPOCH)
    ),
}
# Verbs that a file is not enough for, and the argument that is not in it.
REFUSED = {"spectra.density": "loss", "deep.images.train_on_images": "images"}


def solved():
    return tl.Overlaps(Q=[[1.0]], R=[[1.0]], T=[[1.0]])


def verbs():
    """Public functions whose annotation says that they return a Dataset."""
    found = set()
    for room in ROOMS:
        module = import_module(f"tutelage.{room}")
        for name in module.__all__:
            verb = getattr(module, name)
            if inspect.isfunction(verb) and inspect.signature(verb).return_annotation in (
                xr.Dataset,
                "xr.Dataset",
            ):
                found.add(f"{room}.{name}")
    return found


def test_the_table_has_every_verb():
    assert verbs() == set(CALLS)


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_result_says_who_computed_it_and_from_what_and_is_computed_again(name, tmp_path):
    made = CALLS[name]()
    room, _, verb = name.rpartition(".")
    parameters = inspect.signature(getattr(import_module(f"tutelage.{room}"), verb)).parameters
    held = getattr(getattr(import_module(f"tutelage.{room}"), verb), "held", {})
    assert made.attrs["computed_by"] == name
    assert {*parameters} - {"checkpoint", "progress", *held} <= set(made.attrs)
    assert {"tutelage_version", "jax_version", "python_version"} <= set(made.attrs)
    results.save(made, tmp_path / "made.nc")
    if name in REFUSED:
        with pytest.raises(InputError, match=f"{REFUSED[name]}: got"):
            results.recompute(results.load(tmp_path / "made.nc"))
        return
    again = results.recompute(results.load(tmp_path / "made.nc"))
    xr.testing.assert_identical(again.drop_attrs(), made.drop_attrs())
    assert again.attrs.keys() == made.attrs.keys()
