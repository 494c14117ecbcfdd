"""Does the theory describe what PyTorch, Flax and Keras do?

The run is that of straat2019, Fig. 2: ReLU units with K = M = 2 and η = 0.1, from the start to the
plateau.  It is trained ten times in each framework, with the framework's own layers and optimizer,
at N = 100.  A recorder stores the overlaps.  The equations start from the recorded weights, and a
test compares the mean over the runs with them.  Frameworks that are not installed are left out.
Writes own_networks_flax.csv, own_networks_keras.csv and own_networks_pytorch.csv to docs/pictures
and draws them:

    python examples/13_own_networks.py [FOLDER]
"""

import csv
import os
import sys
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import tutelage as tl

N, K, RATE, UNTIL, RUNS = 100, 2, 0.1, 40.0, 10
STEPS, EVERY = int(UNTIL * N), 100
START = tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[1e-3, 0], [0, 1e-3]], T=np.eye(2))


def weights(run: int) -> tuple[np.ndarray, np.ndarray]:
    """Of student and teacher, with the overlaps of the start, in float32."""
    J, B = START.to_weights(N, seed=run)
    return np.array(J, dtype=np.float32), np.array(B, dtype=np.float32)


def in_pytorch(run: int) -> xr.Dataset:
    import torch
    from torch import nn

    torch.manual_seed(run)
    J, B = (torch.tensor(w) for w in weights(run))
    student, teacher = (
        nn.Sequential(nn.Linear(N, K, bias=False), nn.ReLU(), nn.Linear(K, 1, bias=False))
        for _ in range(2)
    )
    for net, w in ((student, J), (teacher, B)):
        net.load_state_dict({"0.weight": w, "2.weight": torch.ones(1, K)})
    optimizer = torch.optim.SGD(student[0].parameters(), lr=RATE / N)
    record = tl.bridge.Recorder(teacher, RATE / N, every=EVERY)
    record(student)
    for _ in range(STEPS):
        x = torch.randn(1, N)
        loss = 0.5 * (student(x) - teacher(x).detach()).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record(student)
    return record.dataset()


def in_flax(run: int) -> xr.Dataset:
    import jax
    import jax.numpy as jnp
    import optax
    from flax import linen

    class Net(linen.Module):
        @linen.compact
        def __call__(self, x):
            return jnp.sum(linen.relu(linen.Dense(K, use_bias=False)(x)), axis=-1, keepdims=True)

    net, (J, B) = Net(), weights(run)
    student, teacher = ({"params": {"Dense_0": {"kernel": jnp.asarray(w.T)}}} for w in (J, B))
    record = tl.bridge.Recorder(net.bind(teacher), RATE / N, every=EVERY)
    optimizer = optax.sgd(RATE / N)

    def error(params, x):
        return 0.5 * jnp.sum((net.apply(params, x) - net.apply(teacher, x)) ** 2)

    def step(carry, key):
        params, state = carry
        x = jax.random.normal(key, (N,), jnp.float32)
        updates, state = optimizer.update(jax.grad(error)(params, x), state)
        return (optax.apply_updates(params, updates), state), None

    many = jax.jit(lambda carry, keys: jax.lax.scan(step, carry, keys)[0])
    carry = student, optimizer.init(student)
    keys = jax.random.split(jax.random.key(run), STEPS)
    for done in range(0, STEPS, EVERY):
        record(net.bind(carry[0]), step=done)
        carry = many(carry, keys[done : done + EVERY])
    record(net.bind(carry[0]), step=STEPS)
    return record.dataset()


def in_keras(run: int) -> xr.Dataset:
    import keras

    def net(w: np.ndarray, trained: bool) -> keras.Model:
        hidden = keras.layers.Dense(K, activation="relu", use_bias=False)
        out = keras.layers.Dense(1, use_bias=False, trainable=trained)
        model = keras.Sequential([keras.Input((N,)), hidden, out])
        model.set_weights([w.T, np.ones((K, 1))])
        return model

    student, teacher = (net(w, False) for w in weights(run))
    rate = RATE / N / 2  # the mean square has no half
    student.compile(keras.optimizers.SGD(rate), loss="mse", steps_per_execution=EVERY)
    record = tl.bridge.Recorder(teacher, rate, every=EVERY, loss="mean")
    x = np.random.default_rng(run).standard_normal((STEPS, N)).astype("float32")
    y = teacher.predict(x, batch_size=STEPS, verbose=0)
    options = {"batch_size": 1, "shuffle": False, "verbose": 0, "callbacks": [record.keras()]}
    student.fit(x, y, **options)
    return record.dataset()


FRAMEWORKS = {"flax": in_flax, "keras": in_keras, "pytorch": in_pytorch}


def main(folder: Path) -> None:
    for name, training in FRAMEWORKS.items():
        if find_spec({"pytorch": "torch"}.get(name, name)) is None:
            print(f"{name}: not installed")
            continue
        runs = xr.concat([training(run) for run in range(RUNS)], "run", combine_attrs="override")
        theory = tl.bridge.predict(runs.isel(run=[0])).theory
        comparison = tl.simulation.compare(theory, runs)
        mean = comparison.summary
        columns = {
            "time": mean.time,
            "R_11": mean.R[:, 0, 0],
            "R_12": mean.R[:, 0, 1],
            "Q_11": mean.Q[:, 0, 0],
            "error": mean.generalization_error,
        }
        with (folder / f"own_networks_{name}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(columns)
            rows.writerows(zip(*(x.values.tolist() for x in columns.values()), strict=True))
        tl.figures.comparison(comparison)[0].figure.savefig(
            folder / f"own_networks_{name}.png", dpi=110
        )
        plt.close("all")
        print(f"{name}: {comparison.verdict}")
        assert comparison.agrees, comparison


if __name__ == "__main__":
    main(
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "docs" / "pictures"
    )
