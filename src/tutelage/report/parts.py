"""Parts of a report: what a section has given, in files.

``FOLDER/parts/PAPER_SECTION.json`` holds the rows and names the files; pictures and data are
in ``FOLDER/figures``.  The JSON file is removed first and written last, with the sizes of the
others, so that a part is there as a whole or not at all, whenever the work is stopped.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tutelage._checks import InputError
from tutelage.papers import Entry, Row
from tutelage.papers.section import Figure
from tutelage.report.pictures import Picture, close, save
from tutelage.report.version import key
from tutelage.runs import files

PLACES = ("parts", "figures")


@dataclass(frozen=True)
class Part:
    """The rows and pictures of a section; ``full`` if they are of the paper's size."""

    paper: str
    section: str
    full: bool
    rows: list[Row] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


def compute(entry: Entry, full: bool, folder: Path) -> Part:
    """Compute a section, write its files, and return what is in them.

    Raises:
        NotWritten: if a disk is full; what was computed is then in a temporary folder.
    """
    with _own_style():
        pieces = list(entry.section.compute(full))
        try:
            return _write(pieces, entry, full, folder)
        except OSError as problem:
            elsewhere = files.kept_elsewhere(
                lambda path: _write(pieces, entry, full, path), entry.stem
            )
            words = f"{str(folder)!r} could not be written to ({files.reason(problem)})"
            raise files.NotWritten(f"{words}; {entry.stem} is {elsewhere}") from None
        finally:
            for piece in pieces:
                if isinstance(piece, Figure):
                    close(piece)


@contextmanager
def _own_style() -> Iterator[None]:
    """Draw in the style of this report, not of this machine."""
    import matplotlib

    from tutelage import figures

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["figure.max_open_warning"] = 0  # all are closed when written
        with figures.style():
            yield


def _write(pieces: list[Row | Figure], entry: Entry, full: bool, folder: Path) -> Part:
    """The files of a section, the one that names them last."""
    part = Part(entry.paper.key, entry.section.name, full=full)
    for name in PLACES:
        (folder / name).mkdir(parents=True, exist_ok=True)
    _file(entry, folder).unlink(missing_ok=True)
    for piece in pieces:
        if isinstance(piece, Figure):
            part.pictures.append(save(piece, entry.stem, folder / "figures"))
        else:
            part.rows.append(piece)
    content = {"key": key(entry, full), "sizes": _sizes(part, folder), **_as_dict(part)}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    files.write(_file(entry, folder), text, follow_link=False)
    return part


def made(folder: Path) -> Path:
    """The folder of a report, with a place for parts and figures."""
    for name in ("", *PLACES):
        if name and (folder / name).is_symlink():
            allowed = f"the folder {name!r} in it must not be a link"
            raise InputError("folder of the report", repr(str(folder)), allowed, "--out report")
        files.check_folder("folder of the report", folder / name, "--out report")
    return folder


def kept(entry: Entry, full: bool, folder: Path) -> Part | None:
    """The part that an earlier run of the same code has left, if there is a whole one.

    A full one serves for a quick one, too, and not the other way round.
    """
    try:
        content = json.loads(_file(entry, folder).read_text(encoding="utf-8"))
        if content.pop("key") not in {key(entry, full), key(entry, True)}:
            return None
        sizes = content.pop("sizes")
        part = _from_dict(content)
        return part if sizes == _sizes(part, folder) else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def command(entry: Entry, part: Part) -> str:
    """What recomputes a part, and nothing else."""
    name = entry.section.name
    number = name.removeprefix("fig") if name.startswith("fig") else name
    full = " --full" if part.full and entry.section.full else ""
    return f"tutelage reproduce {entry.paper.key} --figure {number} --again{full}"


def _sizes(part: Part, folder: Path) -> dict[str, int]:
    names = [name for picture in part.pictures for name in picture.files]
    return {name: (folder / "figures" / name).stat().st_size for name in names}


def _file(entry: Entry, folder: Path) -> Path:
    return folder / "parts" / f"{entry.stem}.json"


def _as_dict(part: Part) -> dict[str, Any]:
    return {**asdict(part), "rows": [row.as_dict() for row in part.rows]}


def _from_dict(content: dict[str, Any]) -> Part:
    rows = [Row.from_dict(entries) for entries in content.pop("rows")]
    pictures = [Picture(**entries) for entries in content.pop("pictures")]
    return Part(**content, rows=rows, pictures=pictures)
