"""Files that the page may show: by their names, from two folders and from nowhere else.

The folder of the report of ``tutelage reproduce``, and one that was given with ``--files``.  The
server tells its workers by the environment which these are; a client never names a path.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

from tutelage._checks import InputError, shown

REPORT, FILES = "TUTELAGE_EXPLORER_REPORT", "TUTELAGE_EXPLORER_FILES"
ENDINGS = (".nc", ".csv")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# What a training is known by, and what it is called.
PLAYED = {
    "eigenvalues": "eigenvalues",
    "student_correlation_1": "student nodes",
    "teacher_correlation_1": "teacher nodes",
    "correlation_1": "who follows whom",
}
LARGEST = 200 * 2**20  # bytes of a file that is played


def choose(report: Path | str, files: Path | str | None) -> None:
    """The two folders, for this process and those that it starts."""
    os.environ[REPORT] = str(Path(report).resolve())
    os.environ[FILES] = "" if files is None else str(Path(files).resolve())


def report() -> Path:
    """The folder of the report, which need not exist."""
    return Path(os.environ.get(REPORT) or "report")


def _folders() -> list[Path]:
    given = os.environ.get(FILES)
    return [*([Path(given)] if given else []), report() / "figures"]


def results() -> dict[str, Path]:
    """Saved results by their names; those that were given hide those of the report."""
    found: dict[str, Path] = {}
    for folder in reversed(_folders()):
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            if NAME.fullmatch(path.name) and path.suffix in ENDINGS and path.is_file():
                found[path.name] = path
    return found


def path_of(name: str) -> Path:
    """A saved result, by its name."""
    found = results()
    if name not in found:
        listed = f"there are {len(found)} results here" if found else "there are no results here"
        hint = next(iter(found), "make reproduce, or tutelage explore --files FOLDER")
        raise InputError("file", shown(name), listed, hint)
    if found[name].stat().st_size > LARGEST:
        allowed = f"a file has at most {LARGEST // 2**20} MB here"
        raise InputError("file", shown(name), allowed, "a smaller one")
    return found[name]


def playable() -> list[dict[str, str]]:
    """Results of trainings, which have epochs to play back."""
    found = []
    for name, path in results().items():
        what = next((words for key, words in PLAYED.items() if key in _variables(path)), None)
        if what is not None:
            found.append({"name": name, "label": f"{path.stem}: {what}", "view": "playback"})
    return found


def _variables(path: Path) -> set[str]:
    """Names in a file, from its head alone; none if it has no epochs, or cannot be read."""
    try:
        if path.suffix == ".csv":
            with path.open(encoding="utf-8") as file:
                head = [file.readline() for _ in range(200)]
            named = {line.split()[2].rstrip(":") for line in head if line.startswith("# column ")}
            return named if "epoch" in named else set()
        from scipy.io import netcdf_file

        with netcdf_file(path, "r", mmap=False) as file:
            return set(file.variables) if "epoch" in file.dimensions else set()
    except (OSError, ValueError, TypeError, IndexError, AssertionError):
        return set()


def picture(name: str) -> Path | None:
    """A picture of the report, by its name."""
    path = report() / "figures" / name
    return path if NAME.fullmatch(name) and path.suffix == ".svg" and path.is_file() else None


def parts() -> dict[str, list[str]]:
    """Names of the pictures of each section that the report has."""
    found: dict[str, list[str]] = {}
    folder = report() / "parts"
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        try:
            content: Any = json.loads(path.read_text(encoding="utf-8"))
            names = [entry["svg"] for entry in content["pictures"]]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        found[path.stem] = [name for name in names if picture(name) is not None]
    return found
