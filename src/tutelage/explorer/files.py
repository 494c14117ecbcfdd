"""Files that the page may show, by name, from three folders only.

The folders are that of ``--files``, that of the report of ``tutelage reproduce``, and the recorded
trainings of the package.  Workers read the chosen folders from environment variables; a client
never names a path.  Links are not followed, because a link in one of these folders could lead to
any file that the user can read.
"""

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tutelage._checks import InputError, short_repr

if TYPE_CHECKING:
    import xarray as xr

REPORT, FILES = "TUTELAGE_EXPLORER_REPORT", "TUTELAGE_EXPLORER_FILES"
ENDINGS = (".nc", ".csv")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
PACKAGE = Path(__file__).parents[1] / "papers"
# Variables of a training that can be played back, and their names on the page.
PLAYED = {
    "eigenvalues": "eigenvalues",
    "student_correlation_1": "student nodes",
    "teacher_correlation_1": "teacher nodes",
    "best_correlation_1": "teacher nodes",
    "correlation_1": "correlations of nodes",
    "training_loss": "loss",
}
# lines and characters that are read to find the names of the columns of a table
HEADER_LINES, MAX_LINE_LENGTH = 200, 100_000
MAX_BYTES = 200 * 2**20  # largest file that can be played back


def choose(report: Path | str, files: Path | str | None) -> None:
    """Set the two folders for this process and its child processes."""
    os.environ[REPORT] = str(Path(report).resolve())
    os.environ[FILES] = "" if files is None else str(Path(files).resolve())


def report() -> Path:
    """Return the folder of the report, which may not exist."""
    return Path(os.environ.get(REPORT) or "report")


def _is_own(path: Path, folder: Path) -> bool:
    """Return whether a path is a regular file inside this folder, and no link."""
    try:
        inside = path.resolve().is_relative_to(folder.resolve())
        return inside and not path.is_symlink() and path.is_file()
    except (OSError, RuntimeError):  # a circular link
        return False


def _listed(folder: Path, inner: str = "") -> dict[str, Path]:
    """Return the saved results of a folder by name."""
    inner_folder = folder / inner
    paths = sorted(inner_folder.iterdir()) if inner_folder.is_dir() else []
    return {
        path.name: path
        for path in paths
        if NAME.fullmatch(path.name) and path.suffix in ENDINGS and _is_own(path, folder)
    }


def recorded() -> dict[str, Path]:
    """Return the results recorded in the package, by paper and name.

    >>> "tian2020_layers_code.nc" in recorded()
    True
    """
    paths = sorted(PACKAGE.glob("*/recorded/*.nc"))
    return {f"{path.parents[1].name}_{path.name}": path for path in paths}


def results() -> dict[str, Path]:
    """Return saved results by name; --files has precedence over the report."""
    given = os.environ.get(FILES)
    return {
        **recorded(),
        **_listed(report(), "figures"),
        **(_listed(Path(given)) if given else {}),
    }


def path_of(name: str) -> Path:
    """Return the path of a saved result."""
    available = results()
    if name not in available:
        hint = next(iter(available), "make reproduce, or tutelage explore --files FOLDER")
        raise InputError(
            "file", short_repr(name), f"the explorer has {len(available)} results", hint
        )
    if available[name].stat().st_size > MAX_BYTES:
        allowed = f"the explorer reads files of at most {MAX_BYTES // 2**20} MB"
        raise InputError(
            "file", short_repr(name), allowed, "another file, or fewer recorded epochs"
        )
    return available[name]


def load(name: str) -> "xr.Dataset":
    """Load a saved result; errors do not show the path of its folder."""
    from tutelage import results as saved

    path = path_of(name)
    try:
        return saved.load(path)
    except MemoryError:
        raise
    except InputError as problem:
        raise InputError("file", short_repr(name), problem.allowed, "another file") from None
    except Exception as problem:
        raise malformed(name, problem) from None


def malformed(name: str, problem: Exception) -> InputError:
    """Return the error for a file that is not a training."""
    allowed = f"it cannot be read as a training ({type(problem).__name__})"
    return InputError("file", short_repr(name), allowed, "another file")


def playable() -> list[dict[str, str]]:
    """Return the results that have epochs to play back."""
    trainings = []
    for name, path in results().items():
        what = next((words for key, words in PLAYED.items() if key in _variables(path)), None)
        if what is not None:
            label = f"{name.rpartition('.')[0]}: {what}"
            trainings.append({"name": name, "label": label, "view": "playback"})
    return trainings


def _variables(path: Path) -> set[str]:
    """Return the variables of a file; none if it has no epochs or cannot be read."""
    try:
        if path.suffix == ".csv":
            with path.open(encoding="utf-8") as file:
                head = [file.readline(MAX_LINE_LENGTH) for _ in range(HEADER_LINES)]
            named = {line.split()[2].rstrip(":") for line in head if line.startswith("# column ")}
            return named if "epoch" in named else set()
        from scipy.io import netcdf_file

        with netcdf_file(path, "r", mmap=False) as file:
            return set(file.variables) if "epoch" in file.dimensions else set()
    except Exception:  # a malformed file can raise any exception
        return set()


def picture(name: Any) -> bytes | None:
    """Return the content of a picture of the report."""
    if not has_picture(name):
        return None
    try:
        # O_NOFOLLOW: since the check the file may have been replaced by a link.
        handle = os.open(report() / "figures" / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(handle, "rb") as file:
            return file.read(MAX_BYTES)
    except OSError:
        return None


def has_picture(name: object) -> bool:
    """Return whether the report has a picture of this name."""
    if not isinstance(name, str) or not NAME.fullmatch(name) or not name.endswith(".svg"):
        return False
    return _is_own(report() / "figures" / name, report())


def parts() -> dict[str, list[str]]:
    """Return the names of the pictures of each section in the report."""
    sections: dict[str, list[str]] = {}
    folder = report() / "parts"
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        if not _is_own(path, report()):
            continue
        try:
            content: Any = json.loads(path.read_text(encoding="utf-8"))
            names = [entry["svg"] for entry in content["pictures"]]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
        sections[path.stem] = [name for name in names if has_picture(name)]
    return sections
