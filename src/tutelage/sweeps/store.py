"""Finished groups in a folder: one NetCDF file for each, and a manifest in JSON.

    study/manifest.json     function, fixed arguments, selection, seed, versions; points asked for
    study/000001.nc         the points of a group: a Dataset along ``point``, with their keys
    study/lock              who works on it

A file is written under another name, flushed and renamed, so that it is there as a whole or not at
all whatever is killed, and a group is finished when its file is there: nothing else has to be
written with it.  (A Zarr store has many files for each group, and a kill may leave some of them.)
xarray opens the files without us; nothing in them is executed, and links in the folder are never
written through.  Only a process that holds the lock renames or writes anything.
"""

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from tutelage._checks import InputError
from tutelage.results import checksum, netcdf
from tutelage.runs import files
from tutelage.runs.coordinates import indexed
from tutelage.sweeps.combine import FAILURE
from tutelage.sweeps.points import POINT

MANIFEST = "manifest.json"
DAMAGED = ".damaged"
NUMBERED = re.compile("[0-9]{6,9}")  # names of groups
HINT = "another folder, or start_over=True (the present store is renamed)"


class Store:
    """A folder with the finished points of a study.

    folder: created if it is missing.
    identity: values that have to be equal for points to be reused, by name.
    put_aside: whether damaged files are renamed; only for a process that holds the lock.
    """

    def __init__(self, folder: Path, identity: Mapping[str, object], *, put_aside: bool):
        self.folder = folder
        manifest = manifest_of(folder)
        if manifest is not None:
            _check_same(folder, manifest["identity"], identity)
        self.identity = dict(identity)
        self.groups = list(groups(folder, put_aside=put_aside))

    def begin(self, asked: Mapping[str, object]) -> None:
        """Write the manifest: the study and its points. The caller holds the lock."""
        files.remove_leftovers(self.folder)
        content = {"identity": self.identity, "points": asked}
        path = self.folder / MANIFEST
        files.write(path, json.dumps(content, indent=1), follow_link=False)

    def finished(self, retry: bool) -> dict[str, tuple[int, int]]:
        """Return group and position of each finished point; with ``retry``, failed points count as
        unfinished.
        """
        places = {}
        for number, group in enumerate(self.groups):
            for place, (key, failure) in enumerate(zip(keys(group), failures(group), strict=True)):
                if not (retry and failure):
                    places[key] = (number, place)
                else:
                    places.pop(key, None)
        return places

    def add(self, group: xr.Dataset, keys: list[str]) -> None:
        """Save a finished group."""
        named = group.assign_coords({POINT: np.array(keys, dtype=str)})
        taken = (*_files(self.folder, ".nc"), *_files(self.folder, DAMAGED))
        last = max((int(path.stem) for path in taken), default=0)
        path = self.folder / f"{last + 1:06d}.nc"
        files.write(path, netcdf.content(named), follow_link=False)
        self.groups.append(named)


def keys(group: xr.Dataset) -> list[str]:
    return group[POINT].values.tolist()


def failures(group: xr.Dataset) -> list[str]:
    return group[FAILURE].values.tolist()


def manifest_of(folder: Path) -> dict[str, Any] | None:
    """Read the manifest of a store; return None if there is no store."""
    path = folder / MANIFEST
    if not path.exists():
        others = (
            [p.name for p in folder.iterdir() if p.name != files.LOCK] if folder.is_dir() else []
        )
        others = [name for name in others if not name.startswith(".")]
        if others:
            allowed = "a store needs an empty folder or an existing store"
            raise InputError("store", f"{str(folder)!r} with {others[0]!r} in it", allowed, "study")
        return None
    try:
        if not path.is_file():  # reading a pipe would wait forever
            raise ValueError("it is not a regular file")
        manifest = json.loads(path.read_text(encoding="utf-8"))
        return {"identity": dict(manifest["identity"]), "points": dict(manifest["points"])}
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as problem:
        allowed = f"its manifest cannot be read ({problem})"
        raise InputError("store", repr(str(folder)), allowed, HINT) from None


def groups(folder: Path, *, put_aside: bool) -> Iterator[xr.Dataset]:
    """Read all finished groups; skip a damaged file with a warning.

    put_aside: whether a damaged file gets another name, so that its points are computed again.
    """
    for path in _files(folder, ".nc"):
        group = _group(path)
        if isinstance(group, xr.Dataset):
            yield group
            continue
        words = f"{path.name} in {str(folder)!r} is damaged: its points are "
        if put_aside:
            path.rename(path.with_suffix(DAMAGED))
            words += f"computed again, and it is renamed to {path.stem}{DAMAGED}"
        else:
            words += "missing until tl.sweeps.run computes them again"
        warnings.warn(f"{words} ({group})", stacklevel=2)


def _group(path: Path) -> xr.Dataset | str:
    """Read a group, or return why it cannot be used."""
    if not path.is_file():  # reading a pipe would wait forever
        return "it is not a regular file"
    try:
        group = netcdf.read_undamaged(path.read_bytes())
    except OSError as problem:
        return f"it cannot be read ({files.reason(problem)})"
    if isinstance(group, checksum.Damage):
        return group.why
    usable = all(
        name in group.variables and group[name].dims == (POINT,) and group[name].dtype.kind in "OU"
        for name in (POINT, FAILURE)
    )
    along = all(x.dims[:1] == (POINT,) for x in group.data_vars.values())
    return indexed(group) if usable and along else "it is not a group file of a study"


def _files(folder: Path, suffix: str) -> list[Path]:
    return sorted(path for path in folder.glob(f"*{suffix}") if NUMBERED.fullmatch(path.stem))


def _check_same(folder: Path, stored: Mapping[str, object], current: Mapping[str, object]) -> None:
    """Refuse a store whose points were computed with other arguments or versions."""
    differences = list(_differences("", stored, current))
    if differences:
        received = f"{str(folder)!r}, whose points were computed with other arguments or versions"
        raise InputError("store", received, "; ".join(differences[:4]), HINT)


def _differences(name: str, stored: object, current: object) -> Iterator[str]:
    if isinstance(stored, dict) and isinstance(current, dict):
        for part in (*stored, *(part for part in current if part not in stored)):
            inner = f"{name}.{part}" if name else str(part)
            yield from _differences(
                inner, stored.get(part, "nothing"), current.get(part, "nothing")
            )
    elif stored != current:
        yield (
            f"{name.removeprefix('fixed.')} is {_brief(stored)} in the store and "
            f"{_brief(current)} in this call"
        )


def _brief(plain: object) -> str:
    text = plain if isinstance(plain, str) else json.dumps(plain)
    return text if len(text) <= 60 else f"{text[:60]}…"


def put_aside(folder: Path) -> None:
    """Rename a store, so that a new one can begin in its place."""
    if not folder.exists():
        return
    number = 1
    while folder.with_name(f"{folder.name}.before-{number}").exists():
        number += 1
    folder.rename(folder.with_name(f"{folder.name}.before-{number}"))
