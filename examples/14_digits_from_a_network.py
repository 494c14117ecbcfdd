"""Does a student of a network that reads digits find its hidden units?

The teacher is a network with five hidden ReLU units, trained in Equinox to tell the digits of
scikit-learn apart.  A student with eight learns its outputs, on the same images, one at a time.
The images are no inputs of the theory, and `tl.bridge.scenario` says so; the overlaps with their
covariance, the error of Gaussian fields that have them and the correlations of nodes are there all
the same.  Writes digits_from_a_network.csv to docs/pictures and draws it:

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
import matplotlib.pyplot as plt
import numpy as np
import optax
from sklearn.datasets import load_digits

import tutelage as tl

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


def taught(x: np.ndarray, labels: np.ndarray) -> eqx.nn.MLP:
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


def main(folder: Path) -> None:
    x, labels = images()
    teacher, student = taught(jnp.asarray(x), jnp.asarray(labels)), network(STUDENT, 1)
    right = np.mean(np.argmax(jax.vmap(teacher)(x), axis=1) == labels)
    record = tl.bridge.Recorder(teacher, RATE, readout_rate=RATE, every=EVERY, inputs=x)

    def error(net: eqx.nn.MLP, one: Any) -> Any:
        return 0.5 * jnp.sum((net(one) - teacher(one)) ** 2)

    @eqx.filter_jit
    def train(net: eqx.nn.MLP, rows: Any) -> eqx.nn.MLP:
        moving, fixed = eqx.partition(net, eqx.is_array)

        def step(moving: Any, one: Any) -> Any:
            gradient = jax.grad(lambda moving: error(eqx.combine(moving, fixed), one))(moving)
            return jax.tree.map(lambda w, g: w - RATE * g, moving, gradient), None

        return eqx.combine(jax.lax.scan(step, moving, rows)[0], fixed)

    draws = np.random.default_rng(0)
    best, measured = [], []
    for done in range(0, STEPS + 1, EVERY):
        record(student, step=done)
        nodes = tl.bridge.correlations(student, teacher, x)
        best.append(nodes.teacher_correlation.values)
        every = 0.5 * jnp.sum((jax.vmap(student)(x) - jax.vmap(teacher)(x)) ** 2, axis=1)
        measured.append(float(jnp.mean(every)))
        student = train(student, jnp.asarray(x[draws.integers(0, len(x), EVERY)]))
    found = record.dataset()
    names = [f"teacher_{j + 1}" for j in range(TEACHER)]
    gaussian = found.generalization_error[0].values
    columns = [found.time.values, measured, gaussian, *np.array(best).T]
    with (folder / "digits_from_a_network.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["time", "error", "error_of_gaussian_fields", *names])
        rows.writerows(zip(*(np.asarray(c).tolist() for c in columns), strict=True))
    figure, axes = plt.subplots(1, 2, figsize=(10.0, 3.8), layout="constrained")
    axes[0].semilogy(found.time, measured, label="on the images")
    axes[0].semilogy(found.time, gaussian, "--", label="of Gaussian fields with these overlaps")
    axes[0].set(xlabel=r"$\alpha$", ylabel="error")
    for name, curve in zip(names, np.array(best).T, strict=True):
        axes[1].plot(found.time, curve, label=name.replace("_", " "))
    axes[1].set(xlabel=r"$\alpha$", ylabel=r"best correlation, $\max_k \rho_{kj}$")
    for panel in axes:
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
    figure.savefig(folder / "digits_from_a_network.png", dpi=150)
    print(f"The teacher reads {right:.1%} of the digits.")
    print(f"The best correlations with its nodes: {np.round(best[-1], 3).tolist()}.")
    try:
        tl.bridge.scenario(student, teacher, x)
    except tl.InputError as problem:
        print(problem)


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "pictures"
    )
