"""Results: a Dataset on disk, and the same Dataset computed again.

Every result is an ``xarray.Dataset`` whose attributes hold what has to be known to compute it
again: the scenario and the start as JSON, the learning rate, the tolerance, the method and the
versions.  Files are NetCDF 3, which every language reads.
"""

import json
import re
from pathlib import Path
from typing import Any

import xarray as xr

from tutelage import activations
from tutelage.averages.methods import METHODS, Method
from tutelage.checks import InputError
from tutelage.networks import Committee, Scenario
from tutelage.overlaps import Overlaps

NEEDED = ("scenario", "start", "learning_rate", "tolerance", "method")


def save(dataset: xr.Dataset, path: str | Path) -> None:
    """Write a result, with its attributes, to a NetCDF file.

    Args:
        dataset: from `tutelage.online.evolve`, or any other whose entries are numbers or text.
        path: a name that ends in ``.nc``; an existing file is replaced.
    """
    path = Path(path)
    check_path("path", path)
    # SciPy comes with JAX: no further library is needed to write or read the file.
    dataset.to_netcdf(path, engine="scipy")


def load(path: str | Path) -> xr.Dataset:
    """Read what `save` has written; the file is closed again at once."""
    path = Path(path)
    if not path.is_file():
        raise InputError("path", repr(str(path)), "there is no such file", "a file made by save")
    return xr.load_dataset(path, engine="scipy")


def check_path(argument: str, path: Path) -> None:
    """A name that ends in .nc, in a folder that exists."""
    if path.suffix != ".nc":
        raise InputError(argument, repr(str(path)), "the name has to end in .nc", "run.nc")
    if not path.absolute().parent.is_dir():
        raise InputError(argument, repr(str(path)), f"there is no folder {str(path.parent)!r}")


def recompute(dataset: xr.Dataset) -> xr.Dataset:
    """Compute a saved trajectory again, from its attributes alone.

    Raises:
        InputError: if attributes are missing, or name a function (a schedule of the learning
            rate, an activation made by ``from_function``) that a file cannot hold.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    >>> run = tl.online.evolve(tl.Scenario(one, one), start, learning_rate=0.5, until=10)
    >>> recompute(run).equals(run)
    True
    """
    from tutelage import online  # integrators, which saving and loading do not need

    missing = [name for name in NEEDED if name not in dataset.attrs]
    if missing:
        raise InputError(
            "dataset", f"no attribute {missing[0]!r}", f"it has to have {', '.join(NEEDED)}"
        )
    if "time" not in dataset.dims:
        raise InputError("dataset", "no times", "it has to be a trajectory", "tl.online.evolve")
    times = dataset["time"].values.tolist()
    if dataset.attrs.get("outcome", "reached") != "reached":
        # One time beyond the end: the run is to end by itself again, as it did.
        times.append(2 * float(dataset.attrs["ended_at"]))
    return online.evolve(
        _scenario(dataset.attrs["scenario"]),
        _start(dataset.attrs["start"]),
        _learning_rate(dataset.attrs["learning_rate"]),
        until=float(times[-1]),
        times=times,
        tolerance=float(dataset.attrs["tolerance"]),
        method=_method(dataset.attrs["method"]),
    )


def _scenario(text: str) -> Scenario:
    fields = json.loads(text)
    student, teacher = (
        Committee(fields[who]["units"], activation(fields[who]["activation"]))
        for who in ("student", "teacher")
    )
    return Scenario(
        student,
        teacher,
        fields["teacher_overlaps"],
        output_scale=tuple(fields["output_scale"]),
        label_noise=fields["label_noise"],
        weight_decay=fields["weight_decay"],
    )


def _start(text: str) -> Overlaps:
    return Overlaps(**json.loads(text))


def _learning_rate(text: Any) -> Any:
    try:
        return json.loads(str(text))
    except ValueError:
        raise InputError(
            "learning_rate",
            f"the schedule {text!r}",
            "a file holds the name of a schedule, not the function",
            "tl.online.evolve with the function itself",
        ) from None


def activation(name: str) -> activations.Activation:
    """The activation of this name, which is the ``name`` of an `Activation`.

    >>> activation("LeakyReLU(0.1)").slope
    0.1
    """
    kind, parameter = _call(name)
    home: Any = getattr(activations, kind, None) if kind in activations.__all__ else None
    known = isinstance(home, type) and issubclass(home, activations.Activation)
    if not known or home in (activations.Custom, activations.Activation):
        raise InputError(
            "activation", repr(name), "it has to be one that tutelage.activations has by name"
        )
    return home(float(parameter)) if parameter else home()


def _method(text: str) -> Method | None:
    """From "default", "hermite" or "Hermite(order=10)"."""
    if text == "default":
        return None
    kind, parameter = _call(text)
    home = {m.name: m for m in METHODS}.get(kind.lower())
    if home is None:
        raise InputError("method", repr(text), "it has to be a method of tutelage.averages")
    number = parameter.rpartition("=")[2]
    return home(int(number)) if number.isdigit() else home()


def _call(text: str) -> tuple[str, str]:
    """Name and parameter of ``Name(parameter)``; the parameter is empty where there is none."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", text, flags=re.DOTALL)
    return (found[1], (found[2] or "").strip()) if found else (text, "")
