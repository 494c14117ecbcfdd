"""How well is the four-point average of the ReLU known where learning ends?

All four fields have variance one, and any two of them have the correlation ρ:
z_i = √ρ t + √(1−ρ) ε_i with independent standard Gaussian t and ε_i.  Given t they are independent:

    I4 = ⟨θ(z_1) θ(z_2) z_3₊ z_4₊⟩ = ⟨Φ(m/s)² [m Φ(m/s) + s φ(m/s)]²⟩_t,   m = √ρ t, s = √(1−ρ).

This is a one-dimensional integral.  mpmath computes it to 30 digits, independently of the methods
that are compared.  As ρ → 1 the fields become parallel and the covariance singular.  Writes
parallel_fields.csv to docs/pictures and draws it as parallel_fields.png:

    python examples/01_parallel_fields.py [FOLDER]
"""

import csv
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import mpmath
import numpy as np

import tutelage as tl
from tutelage.figures.line_styles import DASHES
from tutelage.figures.style import colour, new_axes
from tutelage.figures.text import finish

ORDERS = (4, 6, 10, 14)
GAPS = [*np.arange(1.0, 0.1, -0.05), *(10.0**-k for k in np.arange(1, 16.5, 0.5))]  # 1 − ρ
EXACT = 2.0**-53 / 10  # drawn for an error of 0, which a logarithmic axis cannot show


def exact(rho: float) -> mpmath.mpf:
    """I4 by the integral over t, to 30 digits."""
    with mpmath.workdps(40):
        m1, s = mpmath.sqrt(mpmath.mpf(rho)), mpmath.sqrt(1 - mpmath.mpf(rho))
        if s == 0:  # all fields equal: ⟨θ(z) z²⟩
            return mpmath.mpf(1) / 2

        def integrand(t: mpmath.mpf) -> mpmath.mpf:
            m = m1 * t
            P = mpmath.ncdf(m / s)
            return mpmath.npdf(t) * P**2 * (m * P + s * mpmath.npdf(m / s)) ** 2

        # The integrand has a layer of the width s at t = 0.
        return mpmath.quad(integrand, [-12, -12 * s, -s, 0, s, 12 * s, 1 + 12 * s, 6, 14])


def compute() -> dict[str, np.ndarray]:
    """Absolute errors of I4 for each method, one row for each 1 − ρ."""
    rho = np.array([1.0 - gap for gap in GAPS])
    C = rho[:, None, None] + (1 - rho)[:, None, None] * np.eye(4)
    reference = [exact(r) for r in rho]
    table = {"1 - rho": np.array(GAPS)}
    for order in ORDERS:
        series = tl.averages.i4(tl.ReLU(), C, method=tl.averages.Hermite(order=order))
        table[f"Hermite series, order {order}"] = difference(series, reference)
    table["orthant (default)"] = difference(tl.averages.i4(tl.ReLU(), C), reference)
    return table


def difference(computed: Any, reference: list[mpmath.mpf]) -> np.ndarray:
    return np.array(
        [abs(float(mpmath.mpf(float(a)) - b)) for a, b in zip(computed, reference, strict=True)]
    )


def save(table: dict[str, np.ndarray], file: Path) -> None:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(table)
        writer.writerows(
            [f"{value:.6e}" for value in row] for row in zip(*table.values(), strict=True)
        )


def draw(file: Path, picture: Path) -> None:
    with file.open(encoding="utf-8") as stream:
        heading, *rows = csv.reader(stream)
    gaps, *errors = np.array(rows, dtype=float).T
    with tl.figures.style():
        axes = new_axes(None)
        for number, (name, error) in enumerate(zip(heading[1:], errors, strict=True)):
            style = {"color": colour(number), "linestyle": DASHES[number]}
            axes.loglog(gaps, np.maximum(error, EXACT), label=name, **style)
        # The largest eigenvalue of the correlation matrix is 1 + 3ρ; the series needs it below 2.
        axes.axvline(2 / 3, color="0.4", linestyle=":")
        axes.annotate("series diverges →", (0.5, 1e-10), color="0.4")
        axes.invert_xaxis()
        axes.set(
            xlabel=r"$1-\rho$: from independent to parallel fields",
            ylabel=r"absolute error of $I_4$",
            title=r"$I_4=\langle\theta(z_1)\theta(z_2)\,z_{3+}\,z_{4+}\rangle$, correlation $\rho$",
        )
        finish(axes)
    axes.figure.savefig(picture, dpi=150)


def main() -> None:
    pictures = Path(__file__).parents[1] / "docs" / "pictures"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else pictures
    folder.mkdir(parents=True, exist_ok=True)
    save(compute(), folder / "parallel_fields.csv")
    draw(folder / "parallel_fields.csv", folder / "parallel_fields.png")


if __name__ == "__main__":
    main()
