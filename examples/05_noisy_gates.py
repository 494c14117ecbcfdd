"""How much noise helps hidden units to specialize?

A unit that transmits its field h through a gate, closed or open with p(s) ∝ exp(βsh), has the
activation h σ(βh): Swish (milletari2019).  Without noise, β → ∞, it is the ReLU; in pure noise,
β → 0, it is linear, and linear units never specialize.  In between there is a β at which the fewest
examples are needed.  The second table draws the gates of a whole network: its first layer transmits
what the mean-field pass says, deeper ones do not, unless their gates are sharp.  Writes
noisy_gates.csv and noisy_network.csv to docs/pictures and draws both as .png:

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
    both = xr.Dataset(
        {"off": network["signal"] - network["mean_field"], "error": network["standard_error"]}
    )
    root = (both**2).mean("example").groupby("layer").mean() ** 0.5
    return [*root["off"].values.tolist(), *root["error"].values.tolist()]


def save(file: Path, heading: list[str], rows: list[list[float]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(heading)
        writer.writerows([f"{value:.9g}" for value in row] for row in rows)


def draw_loads(found: list[xr.Dataset]) -> plt.Figure:
    """Signals of four gates, and the loads."""
    figure, axes = plt.subplots(2, 3, figsize=(13.0, 7.4), layout="constrained")
    h = np.linspace(-3.0, 3.0, 301)
    shown = (GATE, tl.gates.Gate([-1, 1]), tl.gates.Gate([0, 1, 2]), tl.gates.Interval(-1, 1))
    for ax, gate in zip(axes.flat, shown, strict=False):
        gate_activations(tl.gates.curves(gate, [0.0, 0.5, 1, 2, 5, math.inf], h), ax)
    expectation = tl.gates.curves(tl.gates.Gate([0, 1, 2]), [0.0, 0.5, 1, 2, 5, math.inf], h)
    gate_activations(expectation, axes.flat[4], which="expectation")
    critical_load(found, axes.flat[5])
    axes.flat[5].plot(BETAS[:8], 4 / BETAS[:8] ** 2, "k--", linewidth=0.8, label=r"$4/\beta^2$")
    axes.flat[5].legend(fontsize="small")
    near = critical_load(found, axes.flat[5].inset_axes((0.42, 0.38, 0.55, 0.36)))
    near.set(yscale="linear", xlim=(1.4, 50.0), ylim=(5.2, 6.4), xlabel="", ylabel="")
    near.set_xticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    near.minorticks_off()
    near.get_legend().remove()
    return figure


def draw_networks(found: dict[float, xr.Dataset]) -> plt.Figure:
    figure, axes = plt.subplots(1, 2, figsize=(11.0, 4.0), layout="constrained", sharey=True)
    for ax, beta in zip(axes, (1.0, 5.0), strict=True):
        sampled_gates(found[beta].isel(example=[0]), ax)
        ax.set_title(rf"{WIDTH} gates in each layer, $\beta={beta:g}$")
    return figure


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    found = loads()
    alphas = [one["coexists"].values[1:-1] for one in found]
    rows = [list(row) for row in zip(BETAS, *alphas, strict=True)]
    save(folder / "noisy_gates.csv", ["beta", *(f"alpha_c K={K}" for K in UNITS)], rows)
    draw_loads(found).savefig(folder / "noisy_gates.png", dpi=150)
    for units, one, alpha in zip(UNITS, found, alphas, strict=True):
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
