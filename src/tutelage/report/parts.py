"""Parts of a report: the rows and pictures of a section, in files.

``FOLDER/parts/PAPER_SECTION.json`` has the rows and the names of the files; pictures and data are
in ``FOLDER/figures``.  The JSON file is removed first and written last, with the sizes of the other
files, so that an interrupted run leaves either a complete part or none.
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
from tutelage.report.pictures import PictureFiles, close, save
from tutelage.report.version import key
from tutelage.runs import files

SUBFOLDERS = ("parts", "figures")


@dataclass(frozen=True)
class Part:
    """The rows and pictures of a section; ``full`` if computed at the size of the paper."""

    paper: str
    section: str
    full: bool
    rows: list[Row] = field(default_factory=list)
    pictures: list[PictureFiles] = field(default_factory=list)


def compute(entry: Entry, full: bool, folder: Path) -> Part:
    """Compute a section, write its files, and return its part.

    Raises:
        NotWritten: if the disk is full; the results are then in a temporary folder.
    """
    with _report_style():
        pieces = list(entry.section.compute(full))
        try:
            return _write(pieces, entry, full, folder)
        except OSError as problem:
            elsewhere = files.save_elsewhere(
                lambda path: _write(pieces, entry, full, path), entry.stem
            )
            words = f"{str(folder)!r} could not be written to ({files.reason(problem)})"
            raise files.NotWritten(f"{words}; {entry.stem} is {elsewhere}") from None
        finally:
            for piece in pieces:
                if isinstance(piece, Figure):
                    close(piece)


@contextmanager
def _report_style() -> Iterator[None]:
    """Draw in the style of the report, independent of the user's Matplotlib settings."""
    import matplotlib

    from tutelage import figures

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["figure.max_open_warning"] = (
            0  # figures are closed after they are written
        )
        with figures.style():
            yield


def _write(pieces: list[Row | Figure], entry: Entry, full: bool, folder: Path) -> Part:
    """Write the files of a section; the file that names them comes last."""
    part = Part(entry.paper.key, entry.section.name, full=full)
    for name in SUBFOLDERS:
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


def prepare_folder(folder: Path) -> Path:
    """Create the folder of a report with its subfolders, unless it exists; return it."""
    for name in ("", *SUBFOLDERS):
        if name and (folder / name).is_symlink():
            allowed = f"the folder {name!r} in it must not be a link"
            raise InputError("folder of the report", repr(str(folder)), allowed, "--out report")
        files.check_folder("folder of the report", folder / name, "--out report")
    return folder


def stored_part(entry: Entry, full: bool, folder: Path) -> Part | None:
    """Return the complete part stored by an earlier run of the same code, or None.

    A full part also replaces a quick one, but not vice versa.
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
    """Return the command that recomputes a part."""
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
    pictures = [PictureFiles(**entries) for entries in content.pop("pictures")]
    return Part(**content, rows=rows, pictures=pictures)
