"""How much noise helps hidden units to specialize?

A unit that transmits its field h through a gate, closed or open with p(s) ∝ exp(βsh), has the
activation h σ(βh): Swish (milletari2019).  Without noise, β → ∞, it is the ReLU.  In pure noise,
β → 0, it is linear, and linear units never specialize.  The fewest examples are needed at a β in
between.  The second picture is from a whole network with random gates.  Its first layer transmits
the mean-field signal.  Deeper layers do so only if their gates are sharp.  Writes noisy_gates.csv
and noisy_network.csv to docs/pictures and draws both as .png:

    python examples/05_noisy_gates.py [FOLDER]
"""

import csv
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import tutelage as tl
from tutelage.figures import critical_load, gate_activations, sampled_gates
from tutelage.figures.style import new_panels
from tutelage.figures.text import finish

GATE = tl.gates.Gate([0, 1])
LARGE = [2, 2.25, 2.5, 2.75, 3, 3.25, 3.5, 4, 5, 7, 10, 15, 20, 30, 50]
BETAS = np.array([0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, *LARGE])
UNITS = (2, math.inf)
WIDTH, DEPTH, EXAMPLES, SAMPLES = 50, 3, 4, 10_000


def loads() -> list[xr.Dataset]:
    """α_c over β, with both limits, for two and for infinitely many units."""
    beta = np.concatenate([[0.0], BETAS, [math.inf]])
    return [tl.gates.specialization_loads(GATE, beta, units) for units in UNITS]


def networks() -> dict[float, xr.Dataset]:
    """Sampled networks with weights of variance 1/n, for several levels of noise."""
    draw = np.random.default_rng(0)
    weights = [draw.normal(size=(WIDTH, WIDTH)) / math.sqrt(WIDTH) for _ in range(DEPTH)]
    inputs = draw.normal(size=(EXAMPLES, WIDTH))
    betas = (0.1, 0.5, 1.0, 2.0, 5.0, 20.0)
    return {
        b: tl.gates.sample_network(weights, inputs, GATE, b, samples=SAMPLES, seed=1) for b in betas
    }


def deviations(network: xr.Dataset) -> list[float]:
    """Sampled minus mean-field signals: root mean square of each layer, and of standard errors."""
    pair = xr.Dataset(
        {"off": network["signal"] - network["mean_field"], "error": network["standard_error"]}
    )
    root = (pair**2).mean("example").groupby("layer").mean() ** 0.5
    return [*root["off"].values.tolist(), *root["error"].values.tolist()]


def save(file: Path, heading: list[str], rows: list[list[float]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(heading)
        writer.writerows([f"{value:.9g}" for value in row] for row in rows)


def draw_loads(found: list[xr.Dataset]) -> plt.Figure:
    """Draw the signals of four gates, an expectation, and the critical loads."""
    with tl.figures.style():
        axes = new_panels(6, figsize=(13.0, 9.6))
        h = np.linspace(-3.0, 3.0, 301)
        gates = (GATE, tl.gates.Gate([-1, 1]), tl.gates.Gate([0, 1, 2]), tl.gates.Interval(-1, 1))
        names = ("levels 0 and 1", "levels −1 and 1", "levels 0, 1, 2", "any level from −1 to 1")
        for panel, gate, name in zip(axes, gates, names, strict=False):
            curves = tl.gates.curves(gate, [0.0, 0.5, 1, 2, 5, math.inf], h)
            gate_activations(curves, panel).set_title(name)
        expectation = tl.gates.curves(gates[2], [0.0, 0.5, 1, 2, 5, math.inf], h)
        gate_activations(expectation, axes[4], which="expectation").set_title(names[2])
        loads = critical_load(found, axes[5])
        loads.plot(BETAS[:8], 4 / BETAS[:8] ** 2, color="0.4", ls=":", label=r"$4/\beta^2$")
        finish(loads)
        near = critical_load(found, loads.inset_axes((0.42, 0.38, 0.55, 0.36)))
        near.set(yscale="linear", xlim=(1.4, 50.0), ylim=(5.2, 6.4), xlabel="", ylabel="")
        near.get_legend().remove()
    return loads.figure


def draw_networks(found: dict[float, xr.Dataset]) -> plt.Figure:
    """Draw sampled against mean-field signals at two noise levels."""
    with tl.figures.style():
        axes = new_panels(2, sharey=True)
        for panel, beta in zip(axes, (1.0, 5.0), strict=True):
            sampled_gates(found[beta].isel(example=[0]), panel)
            panel.set_title(rf"{WIDTH} gates in each layer, $\beta={beta:g}$")
        axes[1].set_ylabel("")
    return axes[0].figure


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    result = loads()
    alphas = [one["coexists"].values[1:-1] for one in result]
    rows = [list(row) for row in zip(BETAS, *alphas, strict=True)]
    save(folder / "noisy_gates.csv", ["beta", *(f"alpha_c K={K}" for K in UNITS)], rows)
    draw_loads(result).savefig(folder / "noisy_gates.png", dpi=150)
    for units, one, alpha in zip(UNITS, result, alphas, strict=True):
        best, (first, last) = np.argmin(alpha), one["coexists"].values[[0, -1]]
        print(f"K = {units}: α_c = {last:.6f} without noise, {first} in pure noise, and", end=" ")
        print(f"lowest on this grid at β = {BETAS[best]:g}: {alpha[best]:.6f}")
    sampled = networks()
    table = [[beta, *deviations(network)] for beta, network in sampled.items()]
    layers = range(1, DEPTH + 1)
    heading = ["beta", *(f"deviation of layer {n}" for n in layers)]
    heading += [f"standard error of layer {n}" for n in layers]
    save(folder / "noisy_network.csv", heading, table)
    draw_networks(sampled).savefig(folder / "noisy_network.png", dpi=150)


if __name__ == "__main__":
    main()
