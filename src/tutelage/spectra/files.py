"""Examples from files: MATLAB's .mat, NumPy's .npz, and CSV."""

from pathlib import Path
from typing import Any

import numpy as np

from tutelage._arguments import validated
from tutelage._checks import InputError
from tutelage.runs.arrays import load_npz
from tutelage.spectra.examples import Examples, examples

ENDINGS = (".mat", ".npz", ".csv")


@validated
def load_examples(path: str | Path, *, inputs: str = "X", labels: str = "y") -> Examples:
    """Read examples from a file.

    Args:
        path: ``.mat`` (MATLAB 4 to 7.2) or ``.npz`` with two variables; or ``.csv`` with one row
            for each example, whose last column is the label, and whose first row may be a heading.
        inputs: name of the variable with the features, shape (m, n); not used for ``.csv``.
        labels: name of the variable with the classes 0, 1, …; not used for ``.csv``.

    Raises:
        InputError: no such file, another ending, missing variables, or what `examples` refuses.
    """
    path = Path(path)
    if path.suffix not in ENDINGS:
        allowed = f"the name has to end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise InputError("path", repr(str(path)), allowed, "data.npz")
    if not path.is_file():
        raise InputError("path", repr(str(path)), "there is no such file")
    if path.suffix == ".csv":
        return examples(*_csv(path), name=path.stem)
    X, y = _variables(path, (inputs, labels))
    return examples(X, y, path.stem)


def _variables(path: Path, names: tuple[str, str]) -> tuple[Any, Any]:
    try:
        if path.suffix == ".npz":
            arrays = load_npz(path)
        else:
            from scipy.io import loadmat

            everything = loadmat(path)
            arrays = {name: v for name, v in everything.items() if not name.startswith("__")}
    except Exception as problem:  # readers raise errors of many classes
        kind = "MATLAB file before 7.3" if path.suffix == ".mat" else "NumPy archive"
        raise InputError("path", f"{str(path)!r} ({problem})", f"it is not a {kind}") from None
    missing = [name for name in names if name not in arrays]
    if missing:
        have = ", ".join(sorted(arrays)) or "nothing"
        raise InputError(
            "path",
            f"{str(path)!r} with {have}",
            f"the variable {missing[0]!r} is expected",
            "load_examples(path, inputs=NAME, labels=NAME)",
        )
    return arrays[names[0]], arrays[names[1]]


def _csv(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read columns of features and one of labels; skip a first row without numbers."""
    rows = [line.split(",") for line in path.read_text("utf-8", "replace").splitlines() if line]
    if rows and not _is_number(rows[0][0]):
        rows = rows[1:]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        allowed = "every row has to have the same two or more columns, the last one the label"
        raise InputError("path", repr(str(path)), allowed, "0.5,1.2,0")
    try:
        table = np.array(rows, dtype=float)
    except ValueError as problem:
        allowed = "every entry has to be a number"
        raise InputError("path", f"{str(path)!r} ({problem})", allowed) from None
    return table[:, :-1], table[:, -1]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
