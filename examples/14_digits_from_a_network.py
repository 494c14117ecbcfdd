"""Does a student of a network that reads digits find its hidden units?

The teacher is a network with five hidden ReLU units, trained in Equinox to tell the digits of
scikit-learn apart.  A student with eight units learns its outputs on the same images, one at a
time.  The theory does not hold for images, and `tl.bridge.scenario` says so.  The overlaps with the
images' covariance, the error of Gaussian fields with these overlaps, and the correlations of nodes
can be computed nevertheless.  Writes digits_from_a_network.csv to docs/pictures and draws it:

    python examples/14_digits_from_a_network.py [FOLDER]
"""

import csv
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from sklearn.datasets import load_digits

import tutelage as tl
from tutelage.figures.line_styles import DASHES
from tutelage.figures.style import colour, new_panels
from tutelage.figures.text import finish

TEACHER, STUDENT, CLASSES = 5, 8, 10
RATE, STEPS, EVERY = 0.0005, 200_000, 5000


def images() -> tuple[np.ndarray, np.ndarray]:
    """1797 images of 64 pixels, each pixel with mean 0, together with variance 1; and labels."""
    x, labels = load_digits(return_X_y=True)
    x = x - x.mean(axis=0)
    return x / x.std(), labels


def network(units: int, seed: int) -> eqx.nn.MLP:
    key = jax.random.key(seed)
    return eqx.nn.MLP(64, CLASSES, units, 1, use_bias=False, use_final_bias=False, key=key)


def taught(x: jax.Array, labels: jax.Array) -> eqx.nn.MLP:
    """The teacher, after 500 steps of Adam on all images."""
    optimizer = optax.adam(0.01)

    def loss(net: eqx.nn.MLP) -> Any:
        every = optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(x), labels)
        return jnp.mean(every)

    @eqx.filter_jit
    def train(net: eqx.nn.MLP) -> eqx.nn.MLP:
        moving, fixed = eqx.partition(net, eqx.is_array)

        def step(_: Any, carry: Any) -> Any:
            moving, state = carry
            gradient = jax.grad(lambda moving: loss(eqx.combine(moving, fixed)))(moving)
            updates, state = optimizer.update(gradient, state)
            return optax.apply_updates(moving, updates), state

        return eqx.combine(
            jax.lax.fori_loop(0, 500, step, (moving, optimizer.init(moving)))[0], fixed
        )

    return train(network(TEACHER, 0))


def error(net: eqx.nn.MLP, teacher: eqx.nn.MLP, x: Any) -> Any:
    """½ Σ_c (σ_c - τ_c)², on average over images."""
    return 0.5 * jnp.mean(jnp.sum((jax.vmap(net)(x) - jax.vmap(teacher)(x)) ** 2, axis=-1))


@eqx.filter_jit
def trained(net: eqx.nn.MLP, teacher: eqx.nn.MLP, rows: Any) -> eqx.nn.MLP:
    """After a step with each of the images."""
    moving, fixed = eqx.partition(net, eqx.is_array)

    def step(moving: Any, one: Any) -> Any:
        def wrong(moving: Any) -> Any:
            return error(eqx.combine(moving, fixed), teacher, one[None])

        gradient = jax.grad(wrong)(moving)
        return jax.tree.map(lambda w, g: w - RATE * g, moving, gradient), None

    return eqx.combine(jax.lax.scan(step, moving, rows)[0], fixed)


def followed(student: eqx.nn.MLP, teacher: eqx.nn.MLP, x: np.ndarray) -> dict[str, np.ndarray]:
    """Errors and best correlations with each node of the teacher, over time."""
    record = tl.bridge.Recorder(teacher, RATE, readout_rate=RATE, every=EVERY, inputs=x)
    draws = np.random.default_rng(0)
    best, measured = [], []
    for done in range(0, STEPS + 1, EVERY):
        record(student, step=done)
        best.append(tl.bridge.correlations(student, teacher, x).teacher_correlation.values)
        measured.append(error(student, teacher, x))
        student = trained(student, teacher, jnp.asarray(x[draws.integers(0, len(x), EVERY)]))
    result = record.dataset()
    return {
        "time": result.time.values,
        "error": np.array(measured),
        "error_of_gaussian_fields": result.generalization_error[0].values,
        **{f"teacher_{j + 1}": curve for j, curve in enumerate(np.array(best).T)},
    }


def written(columns: dict[str, np.ndarray], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def drawn(columns: dict[str, np.ndarray], path: Path) -> None:
    with tl.figures.style():
        left, right = new_panels(2)
        time = columns["time"]
        left.semilogy(time, columns["error"], color=colour(0), label="on the images")
        gaussian = columns["error_of_gaussian_fields"]
        left.semilogy(time, gaussian, "--", color=colour(1), label="of Gaussian fields")
        left.set(xlabel=r"$\alpha$", ylabel="error")
        for j in range(TEACHER):
            distance = 1 - columns[f"teacher_{j + 1}"]
            style = {"color": colour(j), "linestyle": DASHES[j], "label": f"teacher {j + 1}"}
            right.semilogy(time, distance, **style)
        right.set(xlabel=r"$\alpha$", ylabel=r"$1 - \max_k \rho_{kj}$")
        finish(left, below=True)
        finish(right, below=True)
    left.figure.savefig(path, dpi=150)


def main(folder: Path) -> None:
    x, labels = images()
    pixels = jnp.asarray(x)
    teacher, student = taught(pixels, jnp.asarray(labels)), network(STUDENT, 1)
    reads = np.mean(np.argmax(jax.vmap(teacher)(pixels), axis=1) == labels)
    columns = followed(student, teacher, x)
    written(columns, folder / "digits_from_a_network.csv")
    drawn(columns, folder / "digits_from_a_network.png")
    best = [round(float(columns[f"teacher_{j + 1}"][-1]), 3) for j in range(TEACHER)]
    print(f"The teacher reads {reads:.1%} of the digits.")
    print(f"The best correlations with its nodes: {best}.")
    try:
        tl.bridge.scenario(student, teacher, x)
    except tl.InputError as problem:
        print(problem)


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "pictures"
    )
