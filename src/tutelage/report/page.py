"""The page: ``index.html``, with style and pictures inside it, so that one file is the report."""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tutelage.papers import TITLES, Entry, Record
from tutelage.papers.record import Verdict
from tutelage.report.files import replace
from tutelage.report.numbers import computed_text
from tutelage.report.parts import Part, command
from tutelage.report.version import versions

# In the order in which they are counted; "new" is not about a published number.
VERDICTS: dict[Verdict, str] = {
    "agrees": "within the digits printed, or the uncertainty of what is computed",
    "corrected": "differs; the computed number meets the exact form or value that replaces it",
    "differs": "the computed number, or a test of the statement, says otherwise",
    "undecided": "a test of the statement says neither that it holds nor that it does not",
    "not comparable": "computed under other conditions than the paper's",
    "missing": "published, and not computed here",
}
TEMPLATE = "page.html"


class Finding(NamedTuple):
    """A note, and the rows that it explains."""

    anchor: str
    paper: str
    note: str
    verdict: Verdict
    items: list[str]


def write_page(parts: Mapping[Entry, Part], folder: Path) -> Path:
    """Write ``index.html`` of these parts; their pictures are in ``folder/figures``."""
    records = [record for part in parts.values() for record in part.records]
    text = (
        _environment(folder)
        .get_template(TEMPLATE)
        .render(
            titles=TITLES,
            papers={key: _of(key, parts) for key in TITLES if _of(key, parts)},
            counts={key: _counts(r for r in records if r.paper == key) for key in TITLES},
            total=_counts(records),
            labels=_labels(parts),
            verdicts=VERDICTS,
            findings=(findings := _findings(records)),
            anchor={(f.paper, f.note): f.anchor for f in findings},
            versions=versions(),
            command=command,
        )
    )
    return replace(folder / "index.html", text)


def _environment(folder: Path) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    here = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(here),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["style"] = (here / "style.css").read_text(encoding="utf-8")
    environment.filters["inside"] = lambda name: _inside(folder / "figures" / name)
    environment.filters["with_error"] = computed_text
    return environment


def _inside(path: Path) -> str:
    """A picture as an address that contains it."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def _of(paper: str, parts: Mapping[Entry, Part]) -> dict[Entry, Part]:
    return {entry: part for entry, part in parts.items() if entry.paper == paper}


def _labels(parts: Iterable[Entry]) -> dict[Entry, str]:
    """ "Figure 3" without what it shows, if no other section of the paper is called so."""
    short = {entry: (entry.paper, entry.section.title.partition(":")[0]) for entry in parts}
    names = list(short.values())
    return {
        entry: name[1] if names.count(name) == 1 else entry.section.title
        for entry, name in short.items()
    }


def _counts(records: Iterable[Record]) -> dict[str, int]:
    """How many published numbers have each verdict, and how many there are."""
    given = [record.verdict for record in records]
    counts: dict[str, int] = {verdict: given.count(verdict) for verdict in VERDICTS}
    return {**counts, "all": sum(counts.values())}


def _findings(records: Iterable[Record]) -> list[Finding]:
    """Every note once, in the order of the papers, with the items that it is about."""
    items: dict[tuple[str, str, Verdict], list[str]] = {}
    for record in records:
        if record.note and record.verdict not in ("agrees", "new"):
            items.setdefault((record.paper, record.note, record.verdict), []).append(record.item)
    return [
        Finding(f"finding-{number}", paper, note, verdict, rows)
        for number, ((paper, note, verdict), rows) in enumerate(items.items(), start=1)
    ]
