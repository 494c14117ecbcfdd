"""Find the scenario that describes two networks, or why the theory does not cover them."""

from typing import Any

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import InputError, short_repr
from tutelage._given import ArrayLike
from tutelage.activations import Activation
from tutelage.bridge.behaviour import HiddenLayer
from tutelage.bridge.inputs import check_inputs, structure
from tutelage.bridge.overlaps import overlaps, pair
from tutelage.bridge.recognition import custom
from tutelage.model import Committee, Scenario

# Biases up to this size, in units of the fields' spread, count as zero.
NO_BIAS = 1e-6


@validated
def scenario(
    student: object,
    teacher: object,
    inputs: ArrayLike | None = None,
    *,
    activation: object = None,
    scaled: bool | None = None,
) -> Scenario:
    """Return the `Scenario` of a student and a teacher: units, activations, readouts and T.

    Activations are recognised by their values: a function with the values of a ReLU is one,
    whatever its name.  Other activations are converted by ``Activation.from_function``.  A factor
    of the outputs becomes one of the readouts.

    Args:
        student, teacher: anything that `describe` reads.
        inputs: rows of data, shape (examples, N).  The equations are those of inputs without
            structure: a mean that is not 0, or a covariance that is not the identity, both within
            standard errors, are refused.
        activation: of networks that do not have one (weight matrices, state dicts, parameters): an
            `Activation` or a function, or a pair for student and teacher.
        scaled: as for `tutelage.bridge.overlaps`.

    Raises:
        InputError: naming what the theory does not cover, such as biases, more hidden layers,
            normalisation, skip connections, or inputs with structure.

    >>> import tutelage as tl
    >>> scenario = tl.bridge.scenario([[[3.0, 4.0]], [2.0]], [[1.0, 0.0]], activation=tl.Erf())
    >>> scenario.student.readout.tolist(), scenario.T.tolist()
    ([[2.0]], [[1.0]])
    """
    both = pair(student, teacher, (None, None), scaled)
    if inputs is not None:
        _check_structure(inputs, both[0].weights.shape[1])
    return of_units(
        *both, activation, np.asarray(overlaps(student, teacher, inputs, scaled=scaled).T)
    )


def of_units(J: HiddenLayer, B: HiddenLayer, activation: object, T: np.ndarray) -> Scenario:
    """Return the scenario of two hidden layers, without checking the structure of the inputs."""
    given = activation if isinstance(activation, tuple) else (activation, activation)
    if len(given) != 2:
        allowed = "it has to be one activation, or a pair for student and teacher"
        raise InputError("activation", short_repr(activation), allowed, "tl.ReLU()")
    _check_outputs(J, B)
    student, teacher = (
        _committee(argument, one, g)
        for argument, one, g in zip(("student", "teacher"), (J, B), given, strict=True)
    )
    return Scenario(student, teacher, teacher_overlaps=T)


def _check_structure(inputs: ArrayLike, dimension: int) -> None:
    deviations = structure(check_inputs(inputs, dimension))
    if deviations.words:
        raise InputError(
            "inputs",
            f"data with {deviations.words}",
            "the equations assume components with mean 0, variance 1 and no correlation",
            "whitened data, or tl.bridge.overlaps and tl.generalization_error, which only need "
            "Gaussian fields",
        )


def _check_outputs(J: HiddenLayer, B: HiddenLayer) -> None:
    outputs = [1 if one.readout is None else len(one.readout) for one in (J, B)]
    if outputs[0] != outputs[1]:
        raise InputError("teacher", f"{outputs[1]} outputs", f"the student has {outputs[0]}")


def _committee(argument: str, units: HiddenLayer, given: object) -> Committee:
    _check_biases(argument, units)
    v = units.readout
    plain = v is None or (len(v) == 1 and np.all(v == 1))
    return Committee(len(units.weights), _activation(argument, units, given), None if plain else v)


def _activation(argument: str, units: HiddenLayer, given: Any) -> Activation:
    if units.activation is not None:
        return units.activation
    if units.function is not None:
        return custom(argument, units.function)
    if given is None:
        allowed = "weights alone do not determine the activation"
        hint = "activation=tl.ReLU(), or the model itself instead of its weights"
        raise InputError(argument, "weights without an activation", allowed, hint)
    return given if isinstance(given, Activation) else Activation.from_function(given)


def _check_biases(argument: str, units: HiddenLayer) -> None:
    spread = np.sqrt(np.sum(units.weights**2, axis=1))
    for what, bias in (("biases", units.bias), ("biases of the outputs", units.output_bias)):
        if bias is not None and np.max(np.abs(bias)) > NO_BIAS * np.max(spread):
            raise InputError(
                argument,
                f"{what} of up to {np.max(np.abs(bias)):.3g}",
                "units and outputs of the theory have no bias",
                "layers without bias, or biases that are 0 and not trained",
            )
