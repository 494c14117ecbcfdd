"""A training computed again, from the attributes of its Dataset alone."""

from typing import Any

import xarray as xr

from tutelage._checks import InputError
from tutelage.deep.training.sweep import sweep
from tutelage.deep.training.training import train

NEEDED = (
    *("teacher", "student", "polarity", "runs", "epochs", "examples", "evaluation", "batch"),
    *("learning_rate", "data", "fresh", "seed", "correlations"),
)


def recompute(dataset: xr.Dataset) -> xr.Dataset:
    """Train the students of a Dataset again, with the same teachers, data and records.

    Args:
        dataset: from `tutelage.deep.train` or `sweep`, perhaps saved and loaded.

    Raises:
        InputError: a Dataset of something else, or one whose data were an array.

    >>> import tutelage as tl
    >>> ds = tl.deep.train(2, 2, inputs=4, outputs=3, epochs=2, examples=64, evaluation=50, runs=3)
    >>> recompute(ds).equals(ds)
    True
    """
    attrs = dataset.attrs
    by = str(attrs.get("computed_by"))
    missing = [name for name in NEEDED if name not in attrs]
    if by not in ("deep.train", "deep.sweep") or missing:
        came = f"no attribute {missing[0]!r}" if missing else repr(by)
        raise InputError("dataset", came, "it has to be a result of deep.train or deep.sweep")
    inputs, *hidden, outputs = _widths(attrs["teacher"])
    options: dict[str, Any] = {
        "polarity": _polarity(dataset),
        "inputs": inputs,
        "outputs": outputs,
        "epochs": [int(epoch) for epoch in str(attrs["epochs"]).split(",")],
        "learning_rate": float(attrs["learning_rate"]),
        "data": _data(str(attrs["data"])),
        "fresh": bool(attrs["fresh"]),
        "correlations": bool(attrs["correlations"]),
    }
    options |= {
        name: int(attrs[name]) for name in ("runs", "examples", "evaluation", "batch", "seed")
    }
    multiples = [_widths(one)[1] // hidden[0] for one in str(attrs["student"]).split(",")]
    made = (
        sweep(hidden, multiples, **options)
        if by == "deep.sweep"
        else train(hidden, multiples[0], **options)
    )
    chosen = "polarity" in dataset.coords and "polarity" not in dataset.dims
    return made.assign_coords(polarity=dataset["polarity"]) if chosen else made


def _widths(text: str) -> list[int]:
    return [int(number) for number in text.split("-")]


def _polarity(dataset: xr.Dataset) -> Any:
    """Those of the dimension, the one that was chosen of them, or the only one."""
    if "polarity" in dataset.coords:
        return dataset["polarity"].values
    text = str(dataset.attrs["polarity"])
    if "," in text:
        allowed = "which of them it is has to be a coordinate"
        raise InputError("dataset", f"polarities {text}", allowed, "dataset.sel(polarity=1)")
    return float(text)


def _data(name: str) -> str:
    if name.startswith("array"):
        allowed = "a file holds the name of a distribution, not an array"
        raise InputError("data", repr(name), allowed, "tl.deep.train with the array itself")
    return name
