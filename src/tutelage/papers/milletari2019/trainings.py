"""The networks of milletari2019, Section 3 and Appendix B, trained once for rows and figures.

The paper leaves open how weights and β begin and how long the networks learn.  Here weights begin
uniform (Glorot), biases at 0, and every unit of a Swish network has a trainable β that begins at
1; Adam has the learning rate 0.01 of the paper.  The data are drawn with the sizes and the
geometry of the paper's.  Runs of different activations begin with the same weights.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from tutelage import spectra
from tutelage.activations import ReLU, Sigmoid, Swish

UNITS: Mapping[str, Any] = {
    "Swish": (Swish(), "per unit"),
    "ReLU": (ReLU(), "fixed"),
    "Sigmoid": (Sigmoid(), "fixed"),
}
DATA: Mapping[str, Any] = {
    "linear": spectra.linear_examples,
    "curved": spectra.curved_examples,
    "digits": spectra.digits,
}
ONE, TWO = (10,), (8, 2)  # hidden layers of Fig. 1
# Stuck is decided early: units that are dead after some hundred epochs stay so.
STUCK = 300
FULL_RUNS, FULL_EPOCHS = 20, 2300
FULL_AT = tuple(
    int(e) for e in np.unique([STUCK, *np.round(FULL_EPOCHS * np.linspace(0, 1, 24) ** 2)])
)
FULL_STUCK_RUNS = {"linear": 400, "curved": 100}
QUICK_EPOCHS = {("linear", ONE): 1000, ("linear", TWO): 1000, ("curved", ONE): 600}
QUICK_EPOCHS |= {("curved", TWO): STUCK}
QUICK_RUNS = {("linear", ONE): 20, ("curved", ONE): 20, ("linear", TWO): 200, ("curved", TWO): 100}
QUICK_AT = (0, 10, 20, 40, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500, 600, 700, 1000)
QUICK_SPECTRA_AT = (0, 20, 60, 100, 200, 300, 600, 1000)
QUICK_FEWER_SPECTRA_AT = (0, 60, 300, 1000)  # of more networks
# A spectrum of the digits takes some two seconds: in a quick run few networks have one.
DIGITS_AT = (0, 10, 25, 50, 75, 100, 150, 200, 250, 300)
FULL_DIGITS_AT = (*DIGITS_AT, 400, 500, 600, 800, 1000)
FULL_DIGITS_SPECTRA_AT, FULL_DIGITS_RUNS = (0, 25, 100, 300, 1000), 12
QUICK_DIGITS_SPECTRA_AT, QUICK_DIGITS_SPECTRA, QUICK_DIGITS_RUNS = (25, 300), 2, 6


def small(data: str, hidden: tuple[int, ...], unit: str, full: bool) -> xr.Dataset:
    """The networks of Fig. 1."""
    if full:
        return _trained(data, hidden, unit, FULL_EPOCHS, FULL_RUNS, FULL_AT, FULL_AT)
    epochs = QUICK_EPOCHS[data, hidden]
    many_spectra = QUICK_SPECTRA_AT if hidden == ONE else QUICK_FEWER_SPECTRA_AT
    at, watched = (tuple(e for e in x if e <= epochs) for x in (QUICK_AT, many_spectra))
    return _trained(data, hidden, unit, epochs, QUICK_RUNS[data, hidden], at, watched)


def many(data: str, hidden: tuple[int, ...], unit: str, full: bool) -> xr.Dataset:
    """As many networks as it takes to see how often they are stuck, without spectra."""
    if hidden == TWO and not full:
        return small(data, hidden, unit, full)
    runs = FULL_STUCK_RUNS[data] if full else QUICK_RUNS[data, TWO]
    return _trained(data, hidden, unit, STUCK, runs, (0, STUCK), ())


def digits(unit: str, full: bool, watched: bool) -> xr.Dataset:
    """The networks of Fig. 2: those with spectra, or, in a quick run, more of them without."""
    spectra_at: tuple[int, ...]
    if full:
        at = FULL_DIGITS_AT
        runs, spectra_at = FULL_DIGITS_RUNS, FULL_DIGITS_SPECTRA_AT
        return _trained("digits", (25,), unit, at[-1], runs, at, spectra_at)
    spectra_at = QUICK_DIGITS_SPECTRA_AT if watched else ()
    runs = QUICK_DIGITS_SPECTRA if watched else QUICK_DIGITS_RUNS
    return _trained("digits", (25,), unit, DIGITS_AT[-1], runs, DIGITS_AT, spectra_at)


@cache
def _trained(
    data: str,
    hidden: tuple[int, ...],
    unit: str,
    epochs: int,
    runs: int,
    at: tuple[int, ...],
    spectra_at: tuple[int, ...],
) -> xr.Dataset:
    """Networks with this hidden layer, or these, on one of the three sets of examples."""
    examples = DATA[data]()
    activation, beta = UNITS[unit]
    network = spectra.Classifier(examples.sizes(*hidden), activation, beta)
    return spectra.train(
        network, examples, epochs=epochs, recorded=at, spectra=spectra_at, runs=runs
    )


def fresh_accuracy(run: xr.Dataset, unit: str, points: int = 1000) -> np.ndarray:
    """Of every 2-10-1 network, on points on both sides of the line that it has not learned."""
    from jax.flatten_util import ravel_pytree

    from tutelage._jax import jax, jnp

    fresh, (activation, beta) = spectra.linear_examples(points, seed=1), UNITS[unit]
    network = spectra.Classifier(fresh.sizes(*ONE), activation, beta)
    shape = ravel_pytree(network.initial(jax.random.key(0)))[1]
    X, y = jnp.asarray(fresh.inputs), fresh.labels == 1

    def accuracy(parameters: np.ndarray) -> float:
        z = np.asarray(network.logits(shape(jnp.asarray(parameters)), X))[:, 0]
        return float(np.mean((z > 0) == y))

    return np.array([accuracy(parameters) for parameters in run["final_parameters"].values])
