"""Parts of a report: what a section has given, in files.

``FOLDER/parts/PAPER_SECTION.json`` holds the records and names the files; pictures and data are
in ``FOLDER/figures``.  The JSON file is written last and at once, so that a part is there as a
whole or not at all, whenever the work is stopped.
"""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tutelage.papers import Entry, Record
from tutelage.papers.section import Figure
from tutelage.report.pictures import Picture, save
from tutelage.report.version import key


@dataclass(frozen=True)
class Part:
    """The records and pictures of a section; ``full`` if they are of the paper's size."""

    paper: str
    section: str
    full: bool
    records: list[Record] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)


def compute(entry: Entry, full: bool, folder: Path) -> Part:
    """Compute a section, write its files, and return what is in them."""
    part = Part(entry.paper, entry.section.name, full=full)
    for piece in entry.section.compute(full):
        if isinstance(piece, Figure):
            part.pictures.append(save(piece, entry.stem, folder / "figures"))
        else:
            part.records.append(piece)
    _write(_file(entry, folder), {"key": key(entry, full), **_as_dict(part)})
    return part


def kept(entry: Entry, full: bool, folder: Path) -> Part | None:
    """The part that an earlier run of the same code has left, if there is a whole one.

    A full one serves for a quick one, too, and not the other way round.
    """
    try:
        content = json.loads(_file(entry, folder).read_text(encoding="utf-8"))
        if content.pop("key") not in {key(entry, full), key(entry, True)}:
            return None
        part = _from_dict(content)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    files = [name for picture in part.pictures for name in picture.files]
    return part if all((folder / "figures" / name).is_file() for name in files) else None


def _file(entry: Entry, folder: Path) -> Path:
    return folder / "parts" / f"{entry.stem}.json"


def _as_dict(part: Part) -> dict[str, Any]:
    records = [record.as_dict() for record in part.records]
    return {**asdict(part), "records": records}


def _from_dict(content: dict[str, Any]) -> Part:
    records = [Record.from_dict(entries) for entries in content.pop("records")]
    pictures = [Picture(**entries) for entries in content.pop("pictures")]
    return Part(**content, records=records, pictures=pictures)


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")
    temporary.replace(path)
