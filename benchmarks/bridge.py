"""Records of a training: what they cost beside it, at N = 1000.

    make bench

Steps are those of a user's loop, one example for each, K = M = 2.  Blocks with and without the
recorder take turns, and what is counted is the time of the processor, so that a busy machine
disturbs neither.  The recorder writes its file, too.  PyTorch is left out where it is missing.
A whole training:

    python benchmarks/bridge.py --steps 1000000 --loops numpy
"""

import argparse
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import tutelage as tl

N, K, RATE = 1000, 2, 0.5
BLOCK = 1000
START = tl.Overlaps(Q=[[0.2, 0], [0, 0.3]], R=[[1e-3, 0], [0, 1e-3]], T=np.eye(2))


def in_numpy():
    """A loop of the user's, without a framework."""
    J, B = (np.array(w) for w in START.to_weights(N))
    rng = np.random.default_rng(0)

    def step():
        x = rng.standard_normal(N)
        h = J @ x
        error = np.maximum(B @ x, 0).sum() - np.maximum(h, 0).sum()
        np.add(J, RATE / N * np.outer(error * (h > 0), x), out=J)
        return J

    return B, step, {"activation": tl.ReLU()}


def in_equinox():
    """One compiled step after the other."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    def network(w):
        bare = {"use_bias": False, "use_final_bias": False, "key": jax.random.key(0)}
        net = eqx.nn.MLP(N, 1, K, 1, jax.nn.relu, **bare)
        layers = [jnp.asarray(w), jnp.ones((1, K))]
        return eqx.tree_at(lambda net: [one.weight for one in net.layers], net, layers)

    student, teacher = (network(w) for w in START.to_weights(N))
    moving, fixed = eqx.partition(student, eqx.is_array)

    @jax.jit
    def learn(moving, key):
        key, draw = jax.random.split(key)
        x = jax.random.normal(draw, (N,))

        def error(moving):
            return 0.5 * jnp.sum((eqx.combine(moving, fixed)(x) - teacher(x)) ** 2)

        gradient = jax.grad(error)(moving)
        first = moving.layers[0].weight - RATE / N * gradient.layers[0].weight
        return eqx.tree_at(lambda net: net.layers[0].weight, moving, first), key

    state = [moving, jax.random.key(0)]

    def step():
        state[:] = learn(*state)
        return eqx.combine(state[0], fixed)

    return teacher, step, {}


def in_pytorch():
    """As in examples/13_own_networks.py."""
    import torch
    from torch import nn

    student, teacher = (
        nn.Sequential(nn.Linear(N, K, bias=False), nn.ReLU(), nn.Linear(K, 1, bias=False))
        for _ in range(2)
    )
    for net, w in zip((student, teacher), START.to_weights(N), strict=True):
        weights = {"0.weight": torch.tensor(np.array(w)), "2.weight": torch.ones(1, K)}
        net.load_state_dict(weights)
    optimizer = torch.optim.SGD(student[0].parameters(), lr=RATE / N)

    def step():
        x = torch.randn(1, N)
        loss = 0.5 * (student(x) - teacher(x).detach()).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return student

    return teacher, step, {}


def measured(make, steps, folder):
    """Seconds of the processor for blocks of steps, without and with the recorder."""
    teacher, step, options = make()
    record = tl.bridge.Recorder(teacher, RATE / N, path=folder / f"{make.__name__}.nc", **options)
    record(step())
    record.save()  # what is loaded and compiled once
    without, with_ = [], []
    for _ in range(max(steps // BLOCK, 1)):
        begun = time.process_time()
        for _ in range(BLOCK):
            step()
        middle = time.process_time()
        for _ in range(BLOCK):
            record(step())
        without.append(middle - begun)
        with_.append(time.process_time() - middle)
    return np.array(without), np.array(with_)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--loops", default="numpy,equinox,pytorch")
    given = parser.parse_args()
    steps = given.steps
    table = Table(title=f"recording every {N // 5} steps, N = {N}, {steps} steps")
    for column in ("loop", "step, µs", "with the recorder, µs", "cost"):
        table.add_column(column)
    with tempfile.TemporaryDirectory() as folder:
        for make in (in_numpy, in_equinox, in_pytorch):
            name = make.__name__.removeprefix("in_")
            missing = make is in_pytorch and find_spec("torch") is None
            if missing or name not in given.loops.split(","):
                continue
            without, with_ = measured(make, steps, Path(folder))
            plain, recorded = (1e6 * np.mean(x) / BLOCK for x in (without, with_))
            share = recorded / plain - 1
            table.add_row(name, f"{plain:.1f}", f"{recorded:.1f}", f"{share:.1%}")
    Console().print(table)


if __name__ == "__main__":
    main()
