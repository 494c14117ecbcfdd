"""What ``tutelage simulate`` refuses before any work, with the names of its options."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tutelage._checks import InputError
from tutelage.cli import online_input

if TYPE_CHECKING:
    from tutelage.model import Scenario

INPUTS = ("gaussian", "sign", "uniform")


def check_files(out: Path | None, plot: Path | None, checkpoint: Path | None) -> None:
    """Names that cannot be written."""
    online_input.check_files(out, plot)
    if checkpoint is None:
        return
    if checkpoint.suffix != ".npz":
        allowed, hint = "the name has to end in .npz", "--checkpoint runs.npz"
        raise InputError("--checkpoint", repr(str(checkpoint)), allowed, hint)
    if not checkpoint.absolute().parent.is_dir():
        allowed = f"there is no folder {str(checkpoint.parent)!r}"
        raise InputError("--checkpoint", repr(str(checkpoint)), allowed)


def check_numbers(rate: float, until: float, dimension: int, runs: int, seed: int) -> None:
    """Positive rate, time, dimension and runs; a seed of at least 0."""
    from tutelage._checks import finite_number, positive_integer

    hint = "--learning-rate 0.1; the limit of small rates is for tutelage online"
    finite_number("--learning-rate", rate, above=0.0, hint=hint)
    finite_number("--until", until, above=0.0, hint="--until 100")
    positive_integer("--dimension", dimension, "--dimension 1000")
    positive_integer("--runs", runs, "--runs 10")
    if seed < 0:
        raise InputError("--seed", str(seed), "it has to be at least 0", "--seed 0")


def check_dimension(scenario: "Scenario", dimension: int) -> None:
    """N inputs have room for K + M weight vectors."""
    n = scenario.K + scenario.M
    if dimension < n:
        allowed = f"{n} units need at least {n} inputs"
        raise InputError("--dimension", str(dimension), allowed, "--dimension 1000")


def inputs(text: str, simulator: str, dimension: int) -> Any:
    """The name of a distribution, or the rows of a file."""
    if text != "gaussian" and simulator != "network":
        allowed = "the chain is for Gaussian inputs"
        raise InputError("--inputs", repr(text), allowed, "--simulator network")
    if text in INPUTS:
        return text
    path = Path(text)
    if path.suffix != ".npy" or not path.is_file():
        allowed = f"it has to be one of {', '.join(INPUTS)}, or a .npy file that exists"
        raise InputError("--inputs", repr(text), allowed, "--inputs sign")
    return _rows(path, dimension)


def _rows(path: Path, dimension: int) -> Any:
    import numpy as np

    from tutelage._checks import finite_array

    rows = finite_array("--inputs", np.load(path, allow_pickle=False))
    if rows.ndim != 2 or rows.shape[1] != dimension:
        allowed = f"there have to be rows of --dimension {dimension} numbers"
        hint = f"--dimension {rows.shape[-1]}" if rows.ndim == 2 else ""
        raise InputError("--inputs", f"an array of shape {rows.shape}", allowed, hint)
    return rows
