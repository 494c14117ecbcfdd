"""Finite networks that learn examples at a temperature, against the theory of K → ∞.

    python benchmarks/gpu/temperature.py FOLDER erf:4 erf:8 erf:16 relu:4

writes FOLDER/erf-4-24.json and so on: means over sets of examples, with standard errors, of R_ii,
q_ii, the rotation-invariant overlap and both errors, and the theory's values.
"""

import json
import math
import sys
import time
from pathlib import Path

import numpy as np

import tutelage as tl
from tutelage._jax import jax

# Load α̃, temperature, inputs for each unit, sweeps recorded, sets of examples.
SETTINGS = {"erf": (tl.Erf(), 9.0, 0.1, 6, 600, 16), "relu": (tl.ReLU(), 3.0, 0.1, 50, 600, 8)}


def sampled(name: str, K: int, inputs: int) -> dict:
    """Means and standard errors over the sets of examples, started at the teacher."""
    activation, load, temperature, _, sweeps, sets = SETTINGS[name]
    committee = tl.Committee(K, activation)
    data = tl.equilibrium.sample(
        tl.Scenario(committee, committee, output_scale=1 / math.sqrt(K)),
        examples=round(load * K * inputs),
        temperature=temperature,
        dimension=inputs,
        sweeps=sweeps,
        runs=sets,
        seed=1,
        start="teacher",
    )
    own = np.einsum("...ii->...", data["R"].values).mean((1, 2)) / K
    replicas = np.einsum("...ii->...", data["replica_overlap"].values).mean(1) / K
    columns = {"R": own, "q": replicas} | {
        variable: data[variable].values.mean((1, 2))
        for variable in ("invariant_overlap", "generalization_error", "training_error")
    }
    return {
        "K": K,
        "N": inputs,
        "load": load,
        "temperature": temperature,
        "acceptance": float(data["acceptance"].mean()),
        "autocorrelation_time": float(data["autocorrelation_time"].mean()),
        **{
            n: [float(x.mean()), float(x.std(ddof=1) / math.sqrt(sets))] for n, x in columns.items()
        },
    }


def main(folder: Path, *wanted: str) -> None:
    for text in wanted:
        name, units, *rest = text.split(":")
        activation, load, temperature, per_unit, *_ = SETTINGS[name]
        K = int(units)
        N = int(rest[0]) if rest else per_unit * K
        begin = time.perf_counter()
        result = sampled(name, K, N)
        theory = tl.equilibrium.states(activation, math.inf, load, temperature=temperature)
        state = next(s for s in theory if s.kind == "R > S")
        result["theory"] = {
            n: getattr(state, n) for n in ("R", "q", "generalization_error", "training_error")
        }
        result["seconds"] = time.perf_counter() - begin
        result["machine"] = jax.devices()[0].device_kind
        text = json.dumps(result)
        (folder / f"{name}-{K}-{N}.json").write_text(text, encoding="utf-8")
        print(text, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
