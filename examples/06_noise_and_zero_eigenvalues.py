"""Where do the zero eigenvalues of ReLU networks come from?

Swish with the noise parameter β is linear for β → 0 and a ReLU for β → ∞.  A network 2-10-1 of
random weights with 51 points has a Hessian of 41 eigenvalues.  With ReLU units about half of them
are zero, because a ReLU is curved only at its kink, and a dead unit nowhere.  As β grows, one
eigenvalue after another goes to zero.  Writes noise_and_zero_eigenvalues.csv to docs/pictures and
draws it as noise_and_zero_eigenvalues.png:

    python examples/06_noise_and_zero_eigenvalues.py [FOLDER]
"""

import csv
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import tutelage as tl
from tutelage.figures.line_styles import DASHES
from tutelage.figures.style import colour, new_panels
from tutelage.figures.text import finish

BETAS = np.logspace(-2, 4, 13)
TOLERANCES = (1e-4, 1e-6, 1e-8)
RUNS = 100
LINE = tl.spectra.linear_examples()


def spectra(activation: tl.Activation) -> np.ndarray:
    """Eigenvalues of random networks that have not learned anything yet, one row for each."""
    network = tl.spectra.Classifier(LINE.sizes(10), activation)
    return tl.spectra.train(network, LINE, epochs=1, runs=RUNS, recorded=[0])["eigenvalues"].values[
        :, 0
    ]


def indices(λ: np.ndarray) -> list[float]:
    """γ for each tolerance, and α for the last, on average."""
    zero = tl.spectra.zero_fraction(λ, TOLERANCES).mean(axis=0)
    return [*zero, float(tl.spectra.negative_fraction(λ, TOLERANCES[-1]).mean())]


def save(rows: list[list[float]], file: Path) -> None:
    """One row for each noise level 1/β; the last, without noise, is the ReLU."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["1/beta", *(f"gamma at {t:g}" for t in TOLERANCES), "alpha"])
        for noise, row in zip([*(1 / BETAS), 0.0], rows, strict=True):
            writer.writerow([f"{noise:.6g}", *(f"{x:.6f}" for x in row)])


def draw(rows: list[list[float]], examples: dict[str, np.ndarray]) -> plt.Figure:
    """Draw γ over β for each tolerance, and all eigenvalues for a few β."""
    with tl.figures.style():
        left, right = new_panels(2)
        table = np.array(rows)
        for number, tolerance in enumerate(TOLERANCES):
            power = round(np.log10(tolerance))
            label = rf"$|\lambda| \leq 10^{{{power}}} \max|\lambda|$"
            style = {"color": colour(number), "marker": "os^"[number], "fillstyle": "none"}
            left.plot(BETAS, table[:-1, number], label=label, **style)
            left.axhline(table[-1, number], color=colour(number), ls="--", linewidth=0.8)
        left.set(xscale="log", xlabel=r"$\beta$", ylabel=r"$\gamma$", title="dashed: ReLU")
        for number, (name, λ) in enumerate(examples.items()):
            size = np.sort(np.abs(λ).ravel())[::-1]
            part = np.arange(size.size) / size.size
            style = {"color": colour(number), "linestyle": DASHES[number]}
            right.plot(part, np.maximum(size, 1e-20), label=name, **style)
        right.set(
            yscale="log", xlabel="fraction of the eigenvalues", ylabel=r"$|\lambda|$ at least"
        )
        finish(left)
        finish(right)
    return left.figure


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    results = {float(beta): spectra(tl.Swish(float(beta))) for beta in BETAS}
    relu = spectra(tl.ReLU())
    rows = [indices(λ) for λ in (*results.values(), relu)]
    save(rows, folder / "noise_and_zero_eigenvalues.csv")
    chosen = {rf"Swish, $\beta = {b:g}$": results[b] for b in (1.0, 100.0, 10000.0)}
    draw(rows, {**chosen, "ReLU": relu}).savefig(folder / "noise_and_zero_eigenvalues.png", dpi=150)
    print(f"ReLU: {rows[-1][-2]:.1%} zero; Swish at β = 1: {indices(results[1.0])[-2]:.1%}")


if __name__ == "__main__":
    main()
