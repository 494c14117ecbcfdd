"""Find the units of a network, and check by evaluation that its layers reproduce its outputs.

A model is more than its list of layers: a skip connection, a factor 1/√N or a second activation may
be in its code only.  So the two-layer network that was read,

    σ_c = c Σ_i v_ci g(w_i·ξ/s + b_i) + d_c,   s = 1 or √N,

is compared with the model itself, and an activation that is in the code only is measured:
with the pseudo-inverse of W there is an input at which one unit has a field h and all others 0.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from tutelage._checks import InputError
from tutelage.activations import Activation
from tutelage.bridge.description import Description, Function
from tutelage.bridge.recognition import Recognised, recognised

EXAMPLES = 64
# Outputs are sums of this many rounding errors, and fields may be ill-conditioned.
ROUNDINGS, MIN_TOLERANCE = 100, 1e-10
FIELDS = np.linspace(-8.0, 8.0, 1025)
HINT = "a model of two dense layers and an activation; or layer=NAME for the weights of one layer"


@dataclass(frozen=True)
class HiddenLayer:
    """A hidden layer, its activation and its readout, as measured on the network.

    weights: J of shape (units, inputs), so that the fields are J·ξ + bias.
    readout: c v of shape (outputs, units);  output_bias: d.
    function: g, or None if it is not known;  activation: it, if it is one of the package's.
    scaled: whether fields are w·ξ/√N, and J is w/√N;  factor: c.
    """

    weights: Float[np.ndarray, "units N"]
    bias: Float[np.ndarray, " units"]
    readout: Float[np.ndarray, "outputs units"] | None
    output_bias: Float[np.ndarray, " outputs"] | None
    function: Function | None
    activation: Activation | None
    scaled: bool
    factor: float = 1.0


def units(argument: str, network: Description, scaled: bool | None) -> HiddenLayer:
    """Return the hidden layer of a network with one; refuse a network that is not v·g(Wξ).

    scaled: whether fields are w·ξ/√N; None to find out, and if that cannot be, no.
    """
    measured = _measured_units(argument, network, scaled)
    if isinstance(measured, InputError):
        raise measured
    return measured


def _measured_units(
    argument: str, network: Description, scaled: bool | None
) -> HiddenLayer | InputError:
    """Return the hidden layer of a network, or the reason why it has none."""
    problem = _problem_of_layers(argument, network)
    if problem is not None:
        return problem
    stated = network.functions[0] if network.ordered and network.functions else None
    if network.call is None:
        return _assembled(network, Trial(stated, bool(scaled), 1.0, _known(network, stated)))
    scalings = (False, True) if scaled is None else (scaled,)
    candidates = [stated] if network.ordered else network.functions
    trials = [trial for g in candidates for s in scalings if (trial := _tried(network, g, s))]
    if not trials and not network.ordered:
        measured = [(_measured(network, s), s) for s in scalings]
        trials = [trial for g, s in measured if (trial := _tried(network, g, s))]
    if not trials:
        return _problem_of_model(argument, network)
    return _assembled(network, min(trials, key=Trial.oddity))


def _problem_of_model(argument: str, network: Description) -> InputError:
    """Return the reason why no activation reproduces the outputs of a model.

    The fields of more units than inputs cannot be chosen independently.
    """
    K, N = network.layers[0].weights.shape
    if not network.ordered and K > N:
        received = f"a model ({network.framework}) with {K} units of {N} inputs"
        allowed = "an activation in the code of a model can be measured only if units <= inputs"
        hint = "a sequential model, or its weights [W_1, W_2] with activation=tl.ReLU()"
        return InputError(argument, received, allowed, hint)
    received = f"a model ({network.framework}) that is not the sum of its units"
    allowed = "its outputs are not v·g(Wξ + b): it may have a skip connection or a normalisation"
    return InputError(argument, received, allowed, HINT)


def measured_words(network: Description) -> str:
    """Describe the activation measured by evaluating a network; empty if it was read from layers.

    Measured are the function of the units, and factors of their fields and of the outputs.
    """
    if network.ordered or network.call is None:
        return ""
    hidden = _measured_units("network", network, None)
    if isinstance(hidden, InputError):
        return f"not measured: {hidden.allowed}"
    unknown = "a function that is not an activation of tutelage"
    name = unknown if hidden.activation is None else hidden.activation.name
    words = [f"measured: {name}"]
    if hidden.scaled:
        words.append("of fields w·ξ/√N")
    if hidden.factor != 1:
        words.append(f"with outputs times {hidden.factor:.6g}")
    return " ".join(words)


@dataclass(frozen=True)
class Trial:
    """An activation for which the network equals c v·g(w·ξ/s)."""

    function: Function | None
    scaled: bool
    factor: float
    recognised: Recognised | None

    def oddity(self) -> int:
        """Sort key of activations: known ones first, then those with factor 1, then in the order
        of the input.
        """
        if self.recognised is None:
            return 2
        return int(abs(self.factor * self.recognised.factor - 1) > 1e-3)


def _known(network: Description, g: Function | None) -> Recognised | None:
    return None if g is None else recognised(g, tolerance(network))


def _problem_of_layers(argument: str, network: Description) -> InputError | None:
    if network.strange:
        received = f"a network ({network.framework}) with {', '.join(network.strange)}"
        allowed = "the theory describes dense layers with one activation"
        return InputError(argument, received[:300], allowed, HINT)
    if len(network.layers) > 2:
        names = ", ".join(repr(one.name) for one in network.layers)
        received = f"{len(network.layers)} layers of weights ({names})"
        allowed = "the theory describes one hidden layer and its readout"
        return InputError(argument, received[:300], allowed, f"layer={network.layers[0].name!r}")
    return None


def _tried(network: Description, g: Function | None, scaled: bool) -> Trial | None:
    """Return the network with this activation if it computes the model up to a factor,
    else None.
    """
    if g is None:
        return None
    # Inputs of all sizes: at small fields every activation looks linear.
    sizes = np.geomspace(1.0, 4 * math.sqrt(network.inputs), EXAMPLES)[:, None]
    ξ = sizes * np.random.default_rng(0).standard_normal((EXAMPLES, network.inputs))
    assert network.call is not None
    try:
        outputs = np.asarray(network.call(ξ)).reshape(EXAMPLES, -1)
        x = _fields(network, scaled, ξ)
        hidden, v, d = g.values(x), _readout(network, outputs.shape[1]), _output_bias(network)
    except Exception:  # a model may fail in any way on inputs of a wrong shape
        return None
    if len(v) != outputs.shape[1] or hidden.shape != x.shape or not np.all(np.isfinite(outputs)):
        return None
    computed, expected = hidden @ v.T, outputs - (0.0 if d is None else d)
    # Terms may cancel, and an inactive unit leaves the rounding of its field.
    size = (np.abs(hidden) + np.abs(x)) @ np.abs(v).T
    power = np.sum((computed / size) ** 2)
    factor = float(np.sum(expected * computed / size**2) / power) if power > 0 else 1.0
    if np.max(np.abs(expected - factor * computed) / size) > abs(factor) * tolerance(network):
        return None
    return Trial(g, scaled, _rounded(factor, tolerance(network)), _known(network, g))


def tolerance(network: Description) -> float:
    """Relative tolerance of comparisons with an evaluated network."""
    return max(MIN_TOLERANCE, ROUNDINGS * network.precision)


def _fields(network: Description, scaled: bool, ξ: np.ndarray) -> np.ndarray:
    first = network.layers[0]
    x = ξ @ first.weights.T / (math.sqrt(network.inputs) if scaled else 1.0)
    return x if first.bias is None else x + first.bias


def _readout(network: Description, outputs: int) -> np.ndarray:
    """Return v; without a second layer the identity, or a row of ones for a single output."""
    if len(network.layers) == 2:
        return network.layers[1].weights
    K = len(network.layers[0].weights)
    return np.ones((1, K)) if outputs == 1 else np.eye(K)


def _output_bias(network: Description) -> np.ndarray | None:
    return network.layers[1].bias if len(network.layers) == 2 else None


def _measured(network: Description, scaled: bool) -> Function | None:
    """Measure g from the outputs at inputs that give one unit a field and all others none."""
    try:
        assert network.call is not None
        outputs = np.asarray(network.call(np.zeros((2, network.inputs)))).reshape(2, -1).shape[1]
        function = _one_unit(network, scaled, _readout(network, outputs))
        return (
            function
            if function is not None and np.all(np.isfinite(function.values(FIELDS)))
            else None
        )
    except Exception:  # a model may fail in any way on inputs of a wrong shape
        return None


def _one_unit(network: Description, scaled: bool, v: np.ndarray) -> Function | None:
    """Measure g on the unit with the largest readout weight."""
    first, N = network.layers[0], network.inputs
    W = first.weights / (math.sqrt(N) if scaled else 1.0)
    if len(W) > N or np.linalg.matrix_rank(W) < len(W):
        return None  # the fields of the units cannot be set independently
    back = np.linalg.pinv(W)
    b = np.zeros(len(W)) if first.bias is None else first.bias
    bias = _output_bias(network)
    d = np.zeros(len(v)) if bias is None else bias
    c, i = np.unravel_index(np.argmax(np.abs(v)), v.shape)
    rest = np.sum(v, axis=1)
    place = int(np.argmax(np.abs(rest)))
    is_determined = abs(rest[place]) > 1e-6 * np.sum(np.abs(v[place]))

    def values(h: np.ndarray) -> np.ndarray:
        h = np.asarray(h, dtype=np.float64)
        fields = np.zeros((h.size + 1, len(W)))
        fields[:-1, i] = h.ravel()
        assert network.call is not None
        out = np.asarray(network.call((fields - b) @ back.T)).reshape(h.size + 1, -1)
        # A constant part of g is visible only in the sum of all units; where that is 0 it has no
        # effect.
        g0 = (out[-1, place] - d[place]) / rest[place] if is_determined else 0.0
        return ((out[:-1, c] - out[-1, c]) / v[c, i] + g0).reshape(h.shape)

    return Function("an activation in its code", values)


def _assembled(network: Description, trial: Trial) -> HiddenLayer:
    first, *second = network.layers
    K, recognised = len(first.weights), trial.recognised
    factor = trial.factor * (1.0 if recognised is None else recognised.factor)
    readout = second[0].weights if second else None
    if factor != 1:
        readout = factor * (np.ones((1, K)) if readout is None else readout)
    return HiddenLayer(
        first.weights / (math.sqrt(network.inputs) if trial.scaled else 1.0),
        np.zeros(K) if first.bias is None else first.bias,
        readout,
        _output_bias(network),
        trial.function,
        None if recognised is None else recognised.activation,
        trial.scaled,
        factor,
    )


def _rounded(x: float, error: float) -> float:
    """Round x to its significant digits, so that a factor of 1 is exactly 1."""
    return float(f"{x:.{max(2, int(-math.log10(error)))}g}")
