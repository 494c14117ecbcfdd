"""Networks with randomly drawn gates, compared with the mean-field forward pass.

    h_l = W_l j_{l−1} + b_l,    s ~ p(s) ∝ w_s exp(β s h_l),    j_l = h_l s

The mean-field pass puts j_l = h_l ⟨s⟩.  In the first layer the field is given and this is exact.
Further on the field itself fluctuates, and ⟨f(h)⟩ differs from f(⟨h⟩): by ½ f''(⟨h⟩) Var h where
the fluctuations are small.  Var h is a sum of w_ij² over the layer before: of order 1/n for
weights of order 1/n, but of order one for weights of order 1/√n, however wide the layer is.
"""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_array, positive_integer
from tutelage._given import ArrayLike, CheckedInside
from tutelage.gates.base import AbstractGate
from tutelage.gates.derived import check_gate
from tutelage.gates.validation import check_betas
from tutelage.runs.provenance import recorded
from tutelage.runs.seed import check_seed

Transmits = Literal["signal", "state"]
# Largest number of fields of a layer in one batch: about 50 MB for two states.
BATCH = 10**6


class _Layer(NamedTuple):
    W: np.ndarray
    b: np.ndarray
    beta: np.ndarray


@validated
def mean_field(
    weights: Sequence[ArrayLike],
    inputs: ArrayLike,
    gate: AbstractGate,
    beta: CheckedInside[float],
    *,
    biases: Sequence[ArrayLike] | None = None,
    transmits: Transmits = "signal",
) -> list[np.ndarray]:
    """The forward pass of a network with the activation of the gate: j_l = h_l ⟨s⟩ in each layer.

    Args: as for `sample_network`.

    Returns:
        One array for each layer, shape (examples, n_l).
    """
    check_gate(gate)
    j, signals = _inputs(inputs), []
    for layer in _layers(weights, j.shape[1], beta, biases):
        h = j @ layer.W.T + layer.b
        s = np.asarray(gate.mean(layer.beta, h))
        j = h * s if transmits == "signal" else s
        signals.append(j)
    return signals


@recorded
def sample_network(
    weights: Sequence[ArrayLike],
    inputs: ArrayLike,
    gate: AbstractGate,
    beta: CheckedInside[float],
    *,
    samples: int,
    seed: int = 0,
    biases: Sequence[ArrayLike] | None = None,
    transmits: Transmits = "signal",
) -> xr.Dataset:
    """Draw the gates of a network many times, and compare its signals with mean field.

    Args:
        weights: W_1, …, W_L, of shapes (n_l, n_{l−1}).
        inputs: x, shape (n_0,) or (examples, n_0).
        gate: that of every unit.
        beta: β ≥ 0, one number, or a sequence with one number or one array (n_l,) per layer;
            ``math.inf`` for gates without noise.
        samples: how often the whole network is drawn, at least 2.
        seed: of NumPy's generator.
        biases: b_1, …, b_L, of shapes (n_l,); by default zero.
        transmits: "signal" passes j = h s on to the next layer (eq. (5)), "state" only s (eq. (4)).

    Returns:
        A Dataset over ``example`` and ``unit``, the units of all layers one after the other; the
        coordinate ``layer`` counts from 1: signal, the mean over samples, and its standard_error
        (zero for a gate that never switched, however rarely it may); mean_field; field_variance,
        the variance of h.

    >>> import tutelage as tl
    >>> gate = tl.gates.Gate([0, 1])
    >>> sampled = tl.gates.sample_network([[[1.0]]], [0.5], gate, beta=1.0, samples=10_000, seed=0)
    >>> bool(abs(sampled.signal - sampled.mean_field) < 4 * sampled.standard_error)
    True
    """
    check_gate(gate)
    x = _inputs(inputs)
    layers = _layers(weights, x.shape[1], beta, biases)
    if positive_integer("samples", samples, "samples=10_000") < 2:
        raise InputError("samples", "1", "a standard error needs at least 2", "samples=10_000")
    generator = np.random.default_rng(check_seed(seed))
    sums = _Sums(len(x), [len(layer.b) for layer in layers])
    size = max(1, BATCH // (len(x) * max(len(layer.b) for layer in layers)))
    for first in range(0, samples, size):
        draws = min(size, samples - first)
        sums.add(_draw(layers, x, gate, draws, generator, transmits == "signal"))
    exact = mean_field(weights, x, gate, beta, biases=biases, transmits=transmits)
    return _dataset(sums, exact)


def _draw(
    layers: list[_Layer],
    x: np.ndarray,
    gate: AbstractGate,
    draws: int,
    generator: np.random.Generator,
    signal: bool,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw fields and signals, of shape (draws, examples, n_l) for each layer."""
    j, drawn = np.broadcast_to(x, (draws, *x.shape)), []
    for layer in layers:
        h = j @ layer.W.T + layer.b
        s = gate._draw(np.asarray(gate._argument(layer.beta, h)), generator)
        j = h * s if signal else s
        drawn.append((h, j))
    return drawn


class _Sums:
    """Means and sums of squared deviations of h and j, updated by batches (Chan et al.)."""

    def __init__(self, examples: int, units: list[int]):
        self.units, self.count = units, 0
        self.mean = np.zeros((2, examples, sum(units)))
        self.squares = np.zeros_like(self.mean)

    def add(self, drawn: list[tuple[np.ndarray, np.ndarray]]) -> None:
        draws = np.stack([np.concatenate(part, axis=-1) for part in zip(*drawn, strict=True)])
        n, m = self.count, draws.shape[1]
        mean = np.mean(draws, axis=1)
        gap = mean - self.mean
        self.squares += np.sum((draws - mean[:, None]) ** 2, axis=1) + gap**2 * n * m / (n + m)
        self.mean += gap * m / (n + m)
        self.count = n + m


def _dataset(sums: _Sums, exact: list[np.ndarray]) -> xr.Dataset:
    variance = sums.squares / (sums.count - 1)
    values = {
        "signal": sums.mean[1],
        "standard_error": np.sqrt(variance[1] / sums.count),
        "mean_field": np.concatenate(exact, axis=-1),
        "field_variance": variance[0],
    }
    layer = np.repeat(np.arange(1, len(exact) + 1), sums.units)
    return xr.Dataset(
        {name: (("example", "unit"), value) for name, value in values.items()},
        coords={"layer": ("unit", layer)},
    )


def _inputs(inputs: ArrayLike) -> np.ndarray:
    x = finite_array("inputs", inputs)
    if x.ndim not in (1, 2) or not x.size:
        raise InputError("inputs", f"shape {x.shape}", "its shape is (n_0,) or (examples, n_0)")
    return np.atleast_2d(x)


def _layers(
    weights: CheckedInside[Sequence[ArrayLike]],
    n: int,
    beta: CheckedInside[float | Sequence[float]],
    biases: CheckedInside[Sequence[ArrayLike]] | None,
) -> list[_Layer]:
    """Return checked layers whose shapes fit each other and the inputs."""
    if not isinstance(weights, Sequence) or not len(weights):
        allowed = "it has to be a sequence of matrices, one for each layer"
        raise InputError("weights", repr(type(weights).__name__), allowed, "[W_1, W_2]")
    count = len(weights)
    biases = _per_layer("biases", biases, count, 0.0)
    betas = (
        _per_layer("beta", beta, count, beta) if isinstance(beta, list | tuple) else [beta] * count
    )
    layers = []
    for number, (W, b, noise) in enumerate(zip(weights, biases, betas, strict=True), 1):
        W = finite_array(f"weights[{number - 1}]", W)
        if W.ndim != 2 or W.shape[1] != n or not W.size:
            allowed = f"the shape of layer {number} has to be (units, {n})"
            raise InputError("weights", f"shape {W.shape}", allowed, "one row for each unit")
        n = len(W)
        layers.append(_Layer(W, _vector("biases", finite_array("biases", b), n),
                             _vector("beta", check_betas(noise), n)))  # fmt: skip
    return layers


def _per_layer(argument: str, value: Any, count: int, default: Any) -> list[Any]:
    if value is None:
        return [default] * count
    if not isinstance(value, Sequence) or len(value) != count:
        raise InputError(argument, repr(value), f"there has to be one for each of {count} layers")
    return list(value)


def _vector(argument: str, value: np.ndarray, units: int) -> np.ndarray:
    if value.shape not in ((), (units,)):
        allowed = f"it has to be a number, or one for each of the {units} units"
        raise InputError(argument, f"shape {value.shape}", allowed)
    return np.broadcast_to(value, (units,))
