"""Datasets of runs as figures read them: means over runs, spreads, labels, the symbol of time."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.figures.kinds import Axes
from tutelage.figures.line_styles import OverlapCurve
from tutelage.figures.text import with_formulas
from tutelage.model.layout import BLOCKS, Block
from tutelage.model.numbers import COORDINATE_TEX
from tutelage.runs.coordinates import NUMBERS

BLOCK_OF_LETTER = {block.symbol: block for block in BLOCKS}

# Symbols of numbers that may differ between runs: rates, the scenario's numbers, and the parameters
# of units (with a star: of the teacher).
UNIT_SYMBOLS = {"slope": "a", "beta": r"\beta", "offset": "b"}
SYMBOLS = {
    **{"learning_rate": r"\eta", "readout_rate": r"\eta_v"},
    **COORDINATE_TEX,
    **UNIT_SYMBOLS,
    **{f"teacher_{name}": f"{symbol}^*" for name, symbol in UNIT_SYMBOLS.items()},
}


def mean_over_runs(dataset: xr.Dataset) -> xr.Dataset:
    """Return a single run unchanged, and the mean with its spread for simulated runs."""
    if "run" not in dataset.dims:
        return dataset
    if run_labels(dataset) is not None:
        received = f"{dataset.sizes['run']} runs of the theory with different numbers"
        raise InputError("dataset", received, "it has to be one run", "dataset.isel(run=0)")
    from tutelage.simulation import summary

    return summary(dataset)


def is_mean(dataset: xr.Dataset) -> bool:
    return "generalization_error_spread" in dataset


def run_count(dataset: xr.Dataset) -> int:
    """Return the number of runs, also of a mean over runs."""
    return int(dataset.sizes.get("run", dataset.attrs.get("run_count", 1)))


def spread(dataset: xr.Dataset, name: str) -> xr.DataArray:
    """Return the standard deviation over runs; NaN for a single run."""
    if f"{name}_spread" in dataset:
        return dataset[f"{name}_spread"]
    # `xr.full_like` imports Dask, if it is installed: 0.3 CPU s.
    curve = dataset[name]
    nothing = xr.Variable(curve.dims, np.full(curve.shape, np.nan), curve.attrs, fastpath=True)
    return curve._replace(nothing)


def overlap_curves(dataset: xr.Dataset, letter: str, over: str = "time") -> list[OverlapCurve]:
    """Return the curve of each entry of Q, R or v."""
    block = BLOCK_OF_LETTER[letter]
    x, width = (
        matrix.transpose(over, *block.dimensions).values
        for matrix in (dataset[block.name], spread(dataset, block.name))
    )
    return [
        OverlapCurve(_symbol(block, (i, k), dataset), letter, i, k, x[:, i, k], width[:, i, k])
        for i, k in block.entries(dataset.sizes)
    ]


def _symbol(block: Block, entry: tuple[int, int], dataset: xr.Dataset) -> str:
    return with_formulas(block.label(entry, dataset.sizes))


def axis_label(letters: str) -> str:
    """Return the label of an axis with blocks of the state, such as R_in, Q_ik."""
    return ", ".join(BLOCK_OF_LETTER[letter].tex for letter in letters)


def time_symbol(dataset: xr.Dataset) -> str:
    """Return α, or ηα in the limit η → 0."""
    return r"$\eta\alpha$" if _recorded_rate(dataset) == 0 else r"$\alpha$"


def _recorded_rate(dataset: xr.Dataset) -> Any:
    """Return the recorded learning rate; None if none is recorded or η depends on time."""
    try:
        return json.loads(str(dataset.attrs["learning_rate"]))
    except (KeyError, ValueError):
        return None


def run_labels(dataset: xr.Dataset) -> list[str] | None:
    """Return labels that distinguish the runs of the theory; None for simulated runs.

    Simulated runs have the same parameters and differ by chance only.
    """
    numbers = {
        SYMBOLS[name]: dataset[name].values
        for name in NUMBERS
        if name in dataset.coords and dataset[name].dims == ("run",)
    }
    rates, runs = _recorded_rate(dataset), range(dataset.sizes.get("run", 0))
    if not numbers and isinstance(rates, list) and len(rates) == len(runs) > 0:
        numbers = {SYMBOLS["learning_rate"]: np.asarray(rates)}
    if not numbers and "teacher_overlaps" in dataset.coords:
        return [f"teacher {run + 1}" for run in runs]
    digits = {symbol: shortest(x) for symbol, x in numbers.items()}
    labels = [", ".join(f"${s} = {x[run]}$" for s, x in digits.items()) for run in runs]
    return labels if numbers else None


def shortest(numbers: Sequence[float] | np.ndarray) -> list[str]:
    """Write numbers exactly with up to 5 digits, others with 3 or as many as distinguish them.

    >>> shortest([0.5, 1 / 3, 1.255]), shortest([1 / 3, 1 / 3 + 1e-4])
    (['0.5', '0.333', '1.255'], ['0.3333', '0.3334'])
    """
    different = len(set(map(float, numbers)))
    for digits in range(3, 17):
        written = [f"{x:.5g}" if float(f"{x:.5g}") == x else f"{x:.{digits}g}" for x in numbers]
        if len(set(written)) == different:
            break
    return written


def describe_spread(axes: Axes, dataset: xr.Dataset) -> None:
    """Add to the caption what is drawn of simulated runs."""
    from tutelage.figures.text import add_to_caption

    runs = run_count(dataset)
    if runs > 1 and run_labels(dataset) is None:
        sentence = f"Mean over {runs} simulated runs, with one standard deviation as a band."
        add_to_caption(axes, sentence)
