"""Correlations of student and teacher nodes, strength of fan-out, and rates of recovery."""

from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from tutelage._arguments import validated
from tutelage._checks import InputError, finite_number, positive_integer
from tutelage._given import ArrayLike
from tutelage._jax import jax, jnp
from tutelage._types import AnyArray
from tutelage.deep.network import Network, check_examples, check_pair

# For layers below the last hidden one, E[β_kk(x)] takes a matrix of C rows for every example.
STRENGTH_EXAMPLES = 64


@validated
def correlations(student: Network, teacher: Network, examples: ArrayLike) -> list[np.ndarray]:
    """Compute correlation coefficients of all student with all teacher nodes, by layer.

    ρ_kj = Σ_i f̃_k(x_i) f̃*_j(x_i),   f̃ = (f - mean)/‖f - mean‖ over the examples

    (tian2020, Section 6; the negative values of its Figure 6 show that means are subtracted).
    A node that is constant on all examples has the correlation 0.

    Args:
        student, teacher: of the same depth.
        examples: an evaluation set of shape (examples, d).

    Returns:
        For l = 1, …, L-1 an array of shape (n_l, m_l).

    >>> import numpy as np, tutelage as tl
    >>> teacher = tl.deep.teacher("3", inputs=10, outputs=2)
    >>> x = np.random.default_rng(0).normal(size=(100, 10))
    >>> bool(np.allclose(np.diag(tl.deep.correlations(teacher, teacher, x)[0]), 1.0))
    True
    """
    check_pair(student, teacher)
    x = jnp.asarray(check_examples("examples", examples, student.widths[0]))
    return [np.asarray(ρ) for ρ in _correlations(student, teacher, x)]


@eqx.filter_jit
def _correlations(
    student: Network, teacher: Network, x: Float[AnyArray, "examples inputs"]
) -> list[Any]:
    pairs = zip(student.activations(x)[:-1], teacher.activations(x)[:-1], strict=True)
    return [correlation(f, g) for f, g in pairs]


def correlation(
    f: Float[AnyArray, "examples students"], g: Float[AnyArray, "examples teachers"]
) -> Float[Array, "students teachers"]:
    """Compute ρ_kj of activations of shapes (examples, n) and (examples, m)."""
    return _unit(f).T @ _unit(g)


def _unit(f: Float[AnyArray, "examples nodes"]) -> Any:
    centred = f - jnp.mean(f, axis=0, keepdims=True)
    norm = jnp.linalg.norm(centred, axis=0, keepdims=True)
    # A constant minus its mean is rounding error, which has no direction.
    dead = norm <= 1e-12 * jnp.linalg.norm(f, axis=0, keepdims=True)
    return jnp.where(dead, 0.0, centred / jnp.where(dead, 1.0, norm))


def strengths(
    student: Network, x: Float[AnyArray, "examples inputs"]
) -> list[Float[Array, " students"]]:
    """Compute √E[β_kk(x)] of every hidden layer, β_kk = ‖v_k(x)‖²; the norm ‖v_k‖ in the last one.

    v_k(x) is column k of V_l(x), V_{l-1}(x) = V_l(x) D_l(x) W_lᵀ (tian2020, eq. (4)).
    """
    x = x[:STRENGTH_EXAMPLES]
    hidden = student.fields(x)[:-1]
    V = jnp.broadcast_to(student.weights[-1].T, (1, *student.weights[-1].T.shape))
    norms = [jnp.linalg.norm(V[0], axis=0)]
    for h, W in zip(hidden[::-1], student.weights[-2:0:-1], strict=False):
        V = jnp.where(h[:, None, :] > 0, V, 0.0) @ W.T
        norms.append(jnp.sqrt(jnp.mean(jnp.sum(V**2, axis=1), axis=0)))
    return norms[::-1]


def measure(
    student: Network, teacher: Network, x: Float[AnyArray, "examples inputs"], whole: bool
) -> dict[str, Any]:
    """Measure one run at one epoch; with ``whole``, also all correlations."""
    f, g = student.activations(x), teacher.activations(x)
    measured = {"evaluation_loss": jnp.mean((f[-1] - g[-1]) ** 2)}
    for layer, strength in enumerate(strengths(student, x), start=1):
        ρ = correlation(f[layer - 1], g[layer - 1])
        measured |= {
            f"teacher_correlation_{layer}": jnp.max(ρ, axis=0),
            f"student_correlation_{layer}": jnp.max(ρ, axis=1),
            f"winner_{layer}": jnp.argmax(ρ, axis=0),
            f"follows_{layer}": jnp.argmax(ρ, axis=1),
            f"strength_{layer}": strength,
        }
        if whole:
            measured[f"correlation_{layer}"] = ρ
    return measured


def node_axes(name: str) -> tuple[str, ...]:
    """Return the dimensions of measurements other than run and epoch.

    >>> node_axes("correlation_2"), node_axes("evaluation_loss")
    (('student_2', 'teacher_2'), ())
    """
    kind, _, layer = name.rpartition("_")
    return tuple(f"{axis}_{layer}" for axis in AXES.get(kind, ()))


AXES = {
    "teacher_correlation": ("teacher",),
    "student_correlation": ("student",),
    "winner": ("teacher",),
    "follows": ("student",),
    "strength": ("student",),
    "correlation": ("student", "teacher"),
}


@validated
def recovery_rate(dataset: xr.Dataset, *, threshold: float = 0.95, layer: int = 1) -> xr.DataArray:
    """Compute for each teacher node the fraction of runs in which a student node follows it.

    Runs that have diverged by an epoch are left out; where all have, the rate is missing.

    A teacher node is recovered if its best correlation is greater than the threshold, 0.95 in
    tian2020, Figure 5.

    Args:
        dataset: from `train`.
        threshold: from -1 to 1.
        layer: 1 for the lowest hidden layer.
    """
    finite_number("threshold", threshold, at_least=-1.0, hint="threshold=0.95")
    if threshold > 1:
        raise InputError("threshold", repr(threshold), "a correlation is at most 1", "0.95")
    best = _of_layer(dataset, "teacher_correlation", layer)
    return (best > threshold).astype(float).where(best.notnull()).mean("run")


@validated
def mean_correlation(dataset: xr.Dataset, *, layer: int = 1) -> xr.DataArray:
    """Return ρ_mean = mean_j max_k ρ_kj over teacher nodes of a layer (tian2020, Section 6)."""
    return _of_layer(dataset, "teacher_correlation", layer).mean(f"teacher_{layer}")


@validated
def focus_shifts(dataset: xr.Dataset, *, layer: int = 1) -> xr.DataArray:
    """Count how often each student node has changed the teacher node that it follows.

    Missing for nodes that a narrower student of a sweep does not have, and for runs that diverged.
    """
    follows = _of_layer(dataset, "follows", layer)
    has_follower = (follows >= 0).all(
        "epoch"
    )  # NaN where there is no node, -1 where it follows no teacher node
    return (follows.diff("epoch") != 0).sum("epoch").where(has_follower)


def _of_layer(dataset: xr.Dataset, name: str, layer: int) -> xr.DataArray:
    layers = sum(str(key).startswith("teacher_correlation_") for key in dataset)
    if not layers:
        allowed = "it has to be a result of training"
        raise InputError("dataset", f"{list(dataset)}", allowed, "tl.deep.train(...)")
    if positive_integer("layer", layer, "layer=1") > layers:
        raise InputError("layer", repr(layer), f"there are {layers} hidden layers", "layer=1")
    return dataset[f"{name}_{layer}"]


measure_runs = eqx.filter_jit(
    lambda students, teachers, x, whole: jax.lax.map(
        lambda pair: measure(pair[0], pair[1], x, whole), (students, teachers)
    )
)
