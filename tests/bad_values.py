"""Values that no argument can use, or nearly none: of a wrong kind, shape, range or size."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import xarray as xr


def raises(*_):
    raise ZeroDivisionError("of the user's function")


KIND = {
    "None": None,
    "a word": "nobody",
    "no word": "",
    "bytes": b"1",
    "True": True,
    "complex": 1j,
    "an object": object(),
    "a class": dict,
    "a function without arguments": lambda: 0.0,
    "a function that raises": raises,
    "a function to a word": lambda *_: "nobody",
    "a mapping": {"a": 1},
    "a set": {1, 2},
    "an iterator": lambda: iter(()),
    "an empty Dataset": xr.Dataset(),
    "another Dataset": xr.Dataset({"x": ("time", [1.0])}),
    "a path": Path("/nowhere/at/all.nc"),
}
SHAPE = {
    "empty": [],
    "an empty mapping": {},
    "ragged": [[1.0], [1.0, 2.0]],
    "nested": [[[[1.0]]]],
    "words": ["a", "b"],
    "a vector": [0.5, 0.25, 0.125],
    "objects": [object()],
    "three axes": np.full((2, 3, 5), 0.5),
    "no entries": np.zeros((0, 2)),
    "missing entries": [None, 1.0],
    "not a number in it": [[math.nan]],
    "infinity in it": [1.0, math.inf],
    "a pair": (1.0, 2.0),
    "large entries": [[1e308]],
}
RANGE = {
    "nan": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "minus one": -1,
    "zero": 0,
    "half": 0.5,
    "minus a half": -0.5,
    "three halves": 1.5,
    "a fraction": Fraction(1, 3),
    "tiny": 5e-324,
    "large": 1e308,
    "a NumPy number": np.float32(0.25),
    "an array without axes": np.array(2),
}
SIZE = {
    "beyond 32 bits": 2**33,
    "beyond 64 bits": 10**30,
    "beyond a float": 10**400,
}
BAD = {**KIND, **SHAPE, **RANGE, **SIZE}

# Arguments whose larger values cause more work that fits in memory; the progress shows the
# duration.
WORK = {"epochs", "max_steps", "pieces", "probes", "starts", "steps", "until", "samples"}
WORK |= {"simulation.chain.dimension"}
WORK |= {"deep.images.train_on_images.runs", "deep.train.examples"}


def is_work(name, argument):
    """Whether larger values of an argument mean more work."""
    return argument in WORK or f"{name}.{argument}" in WORK
