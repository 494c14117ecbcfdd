"""The networks of milletari2019, Section 3 and Appendix B, trained once for rows and figures.

The paper leaves open where β begins, whether the output has one, how the learning rate decays and
how long the networks learn.  They are trained in two settings: the authors' setting, from their
public code, and the text's setting, with the printed choices and the simplest choice of the rest.
Points are drawn with the sizes and the geometry of the paper's.  Weights begin uniform (Glorot),
biases at 0; runs of different activations begin with the same weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from tutelage import spectra
from tutelage.activations import ReLU, Sigmoid, Swish

UNITS: Mapping[str, Any] = {"Swish": Swish(), "ReLU": ReLU(), "Sigmoid": Sigmoid()}
DATA: Mapping[str, Any] = {
    "linear": spectra.linear_examples,
    "curved": spectra.curved_examples,
    "digits": spectra.digits,
}
ONE, TWO, DIGITS = (10,), (8, 2), (25,)  # hidden layers of Figs. 1 and 2
ALL = 10**9


@dataclass(frozen=True, eq=False)
class Setting:
    """A setting: everything that the paper does not print.

    name: in rows and figures.
    points: how many of each set are for training, the first ones.
    pixels: largest value of a pixel of the digits.
    beta, beta_start: of Swish, as `spectra.Classifier` and `spectra.train` have them.
    decay: of the learning rate 0.01, for every step.
    output: of the digits.
    each: residuals are ŷ − y instead of (ŷ − y)/m.
    quick, full: epochs for each set and its hidden layers.
    """

    name: str
    points: Mapping[str, int]
    pixels: float
    beta: str
    beta_start: tuple[float, float] | None
    decay: float
    output: Any
    each: bool
    quick: Mapping[Any, int]
    full: Mapping[Any, int]


THEIR_EPOCHS: dict[Any, int] = {("linear", ONE): 960, ("curved", ONE): 2260}
THEIR_EPOCHS |= {("linear", TWO): 960, ("curved", TWO): 2460, ("digits", DIGITS): 2000}
AUTHORS = Setting(
    "authors' setting",
    points={"linear": 38, "curved": 690, "digits": 1437},
    pixels=16 / 255,
    beta="every unit",
    beta_start=(0.0, 0.005),
    decay=0.9 ** (1 / 500),
    output="sigmoid",
    each=True,
    quick=THEIR_EPOCHS,
    full=THEIR_EPOCHS,
)
SHORT_EPOCHS: dict[Any, int] = {("linear", ONE): 1000, ("curved", ONE): 600}
SHORT_EPOCHS |= {("linear", TWO): 1000, ("curved", TWO): 600, ("digits", DIGITS): 300}
TEXT = Setting(
    "text's setting",
    points={"linear": ALL, "curved": ALL, "digits": ALL},
    pixels=1.0,
    beta="per unit",
    beta_start=None,
    decay=1.0,
    output="softmax",
    each=False,
    quick=SHORT_EPOCHS,
    full={**dict.fromkeys(SHORT_EPOCHS, 2300), ("digits", DIGITS): 1000},
)
SETTINGS = (AUTHORS, TEXT)

# Stuck networks are identified early: units that are dead after some hundred epochs stay dead.
STUCK_EPOCH = 300
RECORDS, SPECTRA, FULL_SPECTRA = 16, 6, 24
# A spectrum of the digits takes a second, so the recorded networks have only those at the end.
DIGITS_RECORDS, FULL_DIGITS_SPECTRA = 12, 5


def runs_of(data: str, hidden: tuple[int, ...], full: bool) -> int:
    """Return the number of networks in the first stage of a claim."""
    if data == "digits":
        return 12 if full else 6
    return 20 if full or hidden == ONE else 10


def max_stages(data: str, full: bool) -> int:
    """Return the largest number of stages; each doubles the networks."""
    return 4 if data == "linear" or (full and data == "curved") else 1


def small(
    data: str,
    hidden: tuple[int, ...],
    unit: str,
    full: bool,
    setting: Setting = AUTHORS,
    seed: int = 0,
) -> xr.Dataset:
    """Return the networks of Fig. 1."""
    epochs = (setting.full if full else setting.quick)[data, hidden]
    at = growing(epochs, FULL_SPECTRA if full else RECORDS)
    watched = at if full else (*at[: -1 : RECORDS // SPECTRA + 1], epochs)
    runs = runs_of(data, hidden, full)
    return trained(setting, data, hidden, unit, epochs, runs, at, watched, seed)


def digits(unit: str, full: bool, setting: Setting = AUTHORS) -> xr.Dataset:
    """Return the networks of Fig. 2."""
    epochs = (setting.full if full else setting.quick)["digits", DIGITS]
    ends = tuple(e for e in growing(epochs, FULL_DIGITS_SPECTRA) if e) if full else (epochs,)
    at = tuple(sorted({*growing(epochs, DIGITS_RECORDS), *ends}))
    runs = runs_of("digits", DIGITS, full)
    return trained(setting, "digits", DIGITS, unit, epochs, runs, at, ends)


def growing(epochs: int, count: int) -> tuple[int, ...]:
    """Return epochs from 0 to the last at growing distances: most changes happen early."""
    return tuple(int(e) for e in np.unique(np.round(epochs * np.linspace(0, 1, count) ** 2)))


@cache
def trained(
    setting: Setting,
    data: str,
    hidden: tuple[int, ...],
    unit: str,
    epochs: int,
    runs: int,
    at: tuple[int, ...],
    spectra_at: tuple[int, ...],
    seed: int = 0,
) -> xr.Dataset:
    """Train networks with these hidden layers on one of the three sets of examples."""
    points, network = examples(setting, data), classifier(setting, data, hidden, unit)
    m = len(points.labels)
    return spectra.train(
        network,
        points,
        epochs=epochs,
        recorded=at,
        spectra=spectra_at,
        optimizer=spectra.Adam(0.01, setting.decay),
        beta_start=setting.beta_start if unit == "Swish" else None,
        output=setting.output,
        residual_tolerance=1e-5 / m if setting.each else 1e-5,
        runs=runs,
        seed=seed,
    )


def examples(setting: Setting, data: str, *, rest: bool = False) -> spectra.Examples:
    """Return the examples for training, or with `rest` those for testing."""
    whole, m = DATA[data](), setting.points[data]
    part = slice(m, None) if rest else slice(m)
    scale = setting.pixels if data == "digits" else 1.0
    return spectra.examples(scale * whole.inputs[part], whole.labels[part], whole.name)


def classifier(
    setting: Setting, data: str, hidden: tuple[int, ...], unit: str
) -> spectra.Classifier:
    """Return the network; β of ReLU and Sigmoid is not learned."""
    beta: Any = setting.beta if unit == "Swish" else "fixed"
    return spectra.Classifier(DATA[data]().sizes(*hidden), UNITS[unit], beta)


def fresh_accuracy(run: xr.Dataset, unit: str) -> np.ndarray:
    """Return the accuracy of every 2-10-1 network on the points for testing."""
    from jax.flatten_util import ravel_pytree

    from tutelage._jax import jax, jnp

    fresh, network = (
        examples(AUTHORS, "linear", rest=True),
        classifier(AUTHORS, "linear", ONE, unit),
    )
    shape = ravel_pytree(network.initial(jax.random.key(0)))[1]
    X, y = jnp.asarray(fresh.inputs), fresh.labels == 1

    def accuracy(parameters: np.ndarray) -> float:
        z = np.asarray(network.logits(shape(jnp.asarray(parameters)), X))[:, 0]
        return float(np.mean((z > 0) == y))

    return np.array([accuracy(parameters) for parameters in run["final_parameters"].values])
