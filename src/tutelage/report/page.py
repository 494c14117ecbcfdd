"""The page ``index.html``, which contains its style sheet and pictures."""

import base64
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tutelage.papers import Entry, Paper, Row
from tutelage.papers.coverage import Line, covered
from tutelage.papers.numbers import computed_text
from tutelage.papers.row import Verdict, counted, summary
from tutelage.report.indices import with_indices
from tutelage.report.parts import Part, command
from tutelage.report.version import versions
from tutelage.runs import files

# In the order of the counts on the page.
VERDICTS: dict[Verdict, str] = {
    "agrees": "equal within the printed digits or the uncertainty of the computed number",
    "corrected": "differs; the computed number agrees with a corrected form or value",
    "differs": "the computed number, or a test of the statement, disagrees in every interpretation",
    "in our reading": "fails as printed by the authors; holds in our interpretation",
    "depends": "holds or fails depending on a detail that the paper does not print",
    "undecided": "a test neither confirms nor rejects the statement",
    "not comparable": "computed under conditions other than those of the paper",
    "missing": "published, but not computed here",
    "new": "computed here; not in the papers",
}
TEMPLATE = "page.html"


class ExplainedRows(NamedTuple):
    """A note and the rows that it explains."""

    anchor: str
    paper: str
    note: str
    verdict: Verdict
    items: list[str]


def write_page(parts: Mapping[Entry, Part], folder: Path) -> Path:
    """Write ``index.html`` for these parts, whose pictures are in ``folder/figures``."""
    rows = [row for part in parts.values() for row in part.rows]
    findings = _findings(rows)
    text = (
        _environment(folder)
        .get_template(TEMPLATE)
        .render(
            papers=(papers := _by_paper(parts)),
            counts={
                paper: _counts(row for row in rows if row.paper == paper.key) for paper in papers
            },
            total=_counts(rows),
            summary=summary(row.verdict for row in rows),
            recorded=sum(bool(row.recorded) for row in rows),
            labels=_labels(parts),
            verdicts=VERDICTS,
            findings=findings,
            coverage={paper: _coverage(paper.key, rows) for paper in papers},
            anchor={(finding.paper, finding.note): finding.anchor for finding in findings},
            versions=versions(),
            command=command,
        )
    )
    return files.write(folder / "index.html", text, follow_link=False)


def _environment(folder: Path) -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape

    templates = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["style"] = (templates / "style.css").read_text(encoding="utf-8")
    environment.filters["data_url"] = lambda name: _data_url(folder / "figures" / name)
    environment.filters["with_error"] = computed_text
    environment.filters["indices"] = lambda text: Markup(with_indices(str(escape(text))))
    return environment


def _data_url(path: Path) -> str:
    """Return a picture as a data URL."""
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def _by_paper(parts: Mapping[Entry, Part]) -> dict[Paper, dict[Entry, Part]]:
    grouped: dict[Paper, dict[Entry, Part]] = {}
    for entry, part in parts.items():
        grouped.setdefault(entry.paper, {})[entry] = part
    return grouped


def _labels(parts: Iterable[Entry]) -> dict[Entry, str]:
    """Return short titles such as "Figure 3", and whole titles where these are ambiguous."""
    short = {entry: (entry.paper, entry.section.title.partition(":")[0]) for entry in parts}
    names = list(short.values())
    return {
        entry: name[1] if names.count(name) == 1 else entry.section.title
        for entry, name in short.items()
    }


def _counts(rows: Iterable[Row]) -> dict[str, int]:
    """Return the number of rows with each verdict, and their total."""
    counts = counted(row.verdict for row in rows)
    return {**dict.fromkeys(VERDICTS, 0), **counts, "all": sum(counts.values())}


def _coverage(paper: str, rows: Iterable[Row]) -> list[tuple[Line, str]]:
    """Write the table of the statements of a paper and their outcomes."""
    return list(covered(paper, {row.item: row.verdict for row in rows if row.paper == paper}))


def _findings(rows: Iterable[Row]) -> list[ExplainedRows]:
    """Return every note once, in the order of the papers, with the items that it explains."""
    items: dict[tuple[str, str, Verdict], list[str]] = {}
    for row in rows:
        if row.note and row.verdict not in ("agrees", "new"):
            items.setdefault((row.paper, row.note, row.verdict), []).append(row.item)
    return [
        ExplainedRows(f"finding-{number}", paper, note, verdict, about)
        for number, ((paper, note, verdict), about) in enumerate(items.items(), start=1)
    ]
