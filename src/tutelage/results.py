"""Results: a Dataset on disk, and the same Dataset computed again.

Every result is an ``xarray.Dataset`` whose attributes hold what has to be known to compute it
again: the function that computed it, the scenario and the start as JSON, the learning rate, the
other options of that function, and the versions.  Files are NetCDF 3, which every language reads.
"""

import json
import re
from numbers import Integral
from pathlib import Path
from typing import Any

import xarray as xr

from tutelage import activations
from tutelage._checks import InputError
from tutelage.averages.methods import METHODS, Method
from tutelage.model import Committee, Overlaps, Scenario
from tutelage.runs.recompute import is_recorded
from tutelage.runs.recompute import recompute as recomputed

# What has to be known to compute a Dataset again, for each function that can.
NEEDED = {
    "online.evolve": ("scenario", "start", "learning_rate", "until", "tolerance", "method"),
    "simulation.chain": (
        "scenario",
        "start",
        "learning_rate",
        "dimension",
        "until",
        "runs",
        "seed",
    ),
    "simulation.network": (
        *("scenario", "start", "learning_rate", "dimension", "until", "runs", "seed", "inputs"),
    ),
}


def save(dataset: xr.Dataset, path: str | Path) -> None:
    """Write a result, with its attributes, to a NetCDF file.

    Args:
        dataset: from `tutelage.online.evolve`, or any other whose entries are numbers or text.
        path: a name that ends in ``.nc``; an existing file is replaced.
    """
    path = Path(path)
    check_path("path", path)
    # SciPy comes with JAX: no further library is needed to write or read the file.
    attrs = {name: _storable(value) for name, value in dataset.attrs.items()}
    dataset.assign_attrs(attrs).to_netcdf(path, engine="scipy")


def _storable(value: Any) -> Any:
    """NetCDF 3 has 32 bits for a whole number; a larger one, as of a seed, becomes text."""
    large = isinstance(value, Integral) and not -(2**31) <= int(value) < 2**31
    return str(int(value)) if large else value


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
    """Compute a saved trajectory or ensemble again, from its attributes and times alone.

    Args:
        dataset: from `tutelage.online.evolve`, `tutelage.simulation.chain` or `network`,
            `tutelage.spectra.train`, `tutelage.deep.train` or others; which one its attribute
            ``computed_by`` says.

    Raises:
        InputError: if attributes are missing, or name a function (a schedule of the learning
            rate, an activation made by ``from_function``) or an array (inputs, weights of the
            start) that a file does not hold.

    >>> import tutelage as tl
    >>> one = tl.Committee(1, tl.ReLU())
    >>> start = tl.Overlaps(Q=[[0.25]], R=[[0.0]], T=[[1.0]])
    >>> run = tl.online.evolve(tl.Scenario(one, one), start, learning_rate=0.5, until=10)
    >>> recompute(run).equals(run)
    True
    """
    if is_recorded(dataset):
        return recomputed(dataset)
    name = _computed_by(dataset)
    again = _evolve if name == "online.evolve" else _simulate
    return again(
        dataset,
        _scenario(dataset.attrs["scenario"]),
        _start(dataset.attrs["start"]),
        _learning_rate(dataset.attrs["learning_rate"]),
    )


def _computed_by(dataset: xr.Dataset) -> str:
    """The function that has computed it, if it can do so again."""
    name = str(dataset.attrs.get("computed_by", "online.evolve"))
    if name not in NEEDED:
        raise InputError(
            "dataset",
            f"a result of {name}",
            f"only those of {', '.join(NEEDED)} can be computed again",
            f"tl.{name} with the same arguments",
        )
    missing = [need for need in NEEDED[name] if need not in dataset.attrs]
    if missing:
        allowed = f"it has to have {', '.join(NEEDED[name])}"
        raise InputError("dataset", f"no attribute {missing[0]!r}", allowed)
    if "time" not in dataset.dims:
        raise InputError("dataset", "no times", "it has to be a trajectory", f"tl.{name}")
    return name


def _evolve(dataset: xr.Dataset, scenario: Scenario, start: Overlaps, rate: Any) -> xr.Dataset:
    from tutelage import online  # integrators, which saving and loading do not need

    times, until = dataset["time"].values, float(dataset.attrs["until"])
    if dataset.attrs.get("outcome", "reached") != "reached":
        # The run is to end by itself again, as it did, and to add its end to the times.
        times = times[times < float(dataset.attrs["ended_at"])]
    return online.evolve(
        scenario,
        start,
        rate,
        until=until,
        times=times if len(times) else [until],
        tolerance=float(dataset.attrs["tolerance"]),
        method=_method(dataset.attrs["method"]),
    )


def _simulate(dataset: xr.Dataset, scenario: Scenario, start: Overlaps, rate: Any) -> xr.Dataset:
    from tutelage import simulation  # the same

    attrs = dataset.attrs
    if "weights_sha256" in attrs:
        raise InputError(
            "start",
            "weights",
            "a file holds their overlaps, not the weights",
            "tl.simulation.network with the weights themselves",
        )
    simulator = attrs["computed_by"].rpartition(".")[2]
    times = dataset["time"].values
    options: dict[str, Any] = {}
    if simulator == "network":
        options["inputs"] = _inputs(str(attrs["inputs"]))
    if "corrected_start" in attrs:
        options["corrected_start"] = bool(int(attrs["corrected_start"]))
    return getattr(simulation, simulator)(
        scenario,
        start,
        rate,
        dimension=int(attrs["dimension"]),
        # Times are whole numbers of examples, and the last may have been rounded up.
        until=max(float(attrs["until"]), float(times[-1])),
        runs=int(attrs["runs"]),
        seed=int(attrs["seed"]),
        times=times,
        **options,
    )


def _inputs(text: str) -> str:
    """The name of a distribution; rows of an array are not kept with what they have taught."""
    if not text.isidentifier():
        raise InputError(
            "inputs",
            repr(text),
            "a file holds the name of a distribution, not an array",
            "tl.simulation.network with the array itself",
        )
    return text


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
    home: Any = getattr(activations, kind, None) if kind in dir(activations) else None
    known = isinstance(home, type) and issubclass(home, activations.Activation)
    if not known or home is activations.Activation:
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
