"""Correlations of the nodes of a student and a teacher of any framework: the measures
of tian2020.
"""

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from tutelage._checks import InputError, finite_array, positive_integer, value_of
from tutelage.bridge.frameworks.arrays import as_array
from tutelage.bridge.layered import activations, functions
from tutelage.bridge.models import read, reader_of
from tutelage.deep.measures import correlation
from tutelage.runs.provenance import recorded


def _not_in_the_dataset(dataset: xr.Dataset) -> Any:
    allowed = "a result does not contain the networks and the data"
    raise InputError("student", "a user's network", allowed, "tl.bridge.correlations again")


@recorded(
    from_variables={
        "student": _not_in_the_dataset,
        "teacher": _not_in_the_dataset,
        "data": _not_in_the_dataset,
    }
)
def correlations(student: object, teacher: object, data: object, *, layer: int = 1) -> xr.Dataset:
    """Correlation coefficients of the nodes of one layer of two networks on data.

    ρ_kj = Σ_i f̃_k(x_i) f̃*_j(x_i),   f̃ = (f - mean)/‖f - mean‖ over the examples

    (tian2020, Section 6).  A node that is constant on all examples has the correlation 0.

    Args:
        student, teacher: anything that `describe` reads, with dense layers; or functions from data
            to the activations of a layer, shape (examples, nodes), for any other model.  Further
            axes, such as the places of a convolution, are examples.
        data: of shape (examples, inputs); functions receive it unchanged.
        layer: 1 for the lowest hidden layer; the last one is the outputs.

    Returns:
        A Dataset with ``correlation`` over ``student`` and ``teacher``; the best of each teacher
        node, ``teacher_correlation``, and the number of the student node that has it, ``winner``;
        the same of each student node, ``student_correlation`` and ``follows``.

    Raises:
        InputError: if there is no such layer, or the functions between the layers of a network are
            unknown.

    >>> import numpy as np, tutelage as tl
    >>> rows = np.random.default_rng(0).standard_normal((50, 3))
    >>> best = tl.bridge.correlations(lambda x: x[:, [2, 0]], lambda x: x, rows)
    >>> best["winner"].values.tolist()[::2], best["follows"].values.tolist()
    ([2, 1], [3, 1])
    """
    positive_integer("layer", layer, "layer=1")
    f = _nodes("student", student, data, layer)
    g = _nodes("teacher", teacher, data, layer)
    if len(f) != len(g):
        received = f"{len(g)} examples and places"
        raise InputError(
            "teacher", received, f"the student has {len(f)}", "the same data and sizes"
        )
    ρ = np.asarray(correlation(f, g))
    return xr.Dataset(
        {
            "correlation": (("student", "teacher"), ρ),
            "teacher_correlation": ("teacher", ρ.max(axis=0)),
            "winner": ("teacher", ρ.argmax(axis=0) + 1),
            "student_correlation": ("student", ρ.max(axis=1)),
            "follows": ("student", ρ.argmax(axis=1) + 1),
        },
        {"student": np.arange(1, len(ρ) + 1), "teacher": np.arange(1, ρ.shape[1] + 1)},
    )


def _nodes(
    argument: str, network: object, data: object, layer: int
) -> Float[np.ndarray, "n nodes"]:
    """Activations of the nodes, examples and places as rows."""
    if callable(network) and reader_of(network) is None:
        allowed = "it has to be a function from data to activations"
        dataset = value_of(argument, network, data, allowed=allowed, hint="lambda x: hidden(x)")
        f = finite_array(argument, as_array(argument, dataset))
    else:
        description = read(argument, network)
        if layer > len(description.layers):
            allowed = f"the {argument} has {len(description.layers)} layers"
            raise InputError("layer", repr(layer), allowed, "layer=1")
        ξ = finite_array("data", as_array("data", data))
        if ξ.ndim != 2 or ξ.shape[1] != description.inputs:
            allowed = f"it has to be a matrix with {description.inputs} columns"
            raise InputError("data", f"shape {ξ.shape}", allowed)
        f = activations(description, functions(argument, description), ξ, layer)
    if f.ndim < 2 or not f.size:
        received = f"activations of shape {f.shape}"
        raise InputError(argument, received, "their shape has to be (examples, nodes)")
    return np.moveaxis(f, 1, -1).reshape(-1, f.shape[1]) if f.ndim > 2 else f
