"""Decide statements in several readings, where a choice is not printed.

What is not printed has to be chosen, and a paper may be read in several ways: by its text, or by
the public code of its authors.  The statement is decided in each reading, and these verdicts
together make that of the row.  It *differs* only if it fails in every one of them, those of our own
making included.  If it fails as the authors count or print it, and holds only in a reading that we
have chosen, it holds *in our reading*.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from tutelage._checks import InputError
from tutelage.papers.numbers import computed_text
from tutelage.papers.row import Row, Verdict

FAILED: tuple[Verdict, ...] = ("corrected", "differs")


def in_each_reading(
    item: str,
    on: str,
    readings: Mapping[str, Row],
    note: str = "",
    *,
    ours: Collection[str] = (),
) -> Row:
    """Return one row for a statement that is decided in several readings of the paper.

    It "agrees" if it does in every reading, and "differs" if it fails in every one; if it agrees in
    one and not in another it "depends", and its note names the choice, with both outcomes. If it
    fails in all readings of the authors and agrees in one of ours, it holds "in our reading". If it
    agrees in none and fails only in some, ours included, it is "undecided".  Numbers are those of
    the first reading, which the row names.

    Args:
        on: the choice that is not printed, such as "the scale of the students' start".
        readings: the row of each reading that is reasonable, by its name; the authors' own first.
        note: further explanation, unless it agrees.
        ours: names of readings that neither the text nor the code of the authors has.

    >>> from tutelage.papers.claim import claim
    >>> row = in_each_reading("it grows", "η", {
    ...     "η = 1": claim("p", "i", [1.0, 1.2, 0.9, 1.1]),
    ...     "η = 2": claim("p", "i", [-1.0, -1.2, -0.9, -1.1]),
    ... })
    >>> row.verdict, row.words
    ('depends', '1.050 ± 0.065 (η = 1)')
    >>> row.note
    'Depends on η. η = 1: 1.050 ± 0.065, agrees. η = 2: -1.050 ± 0.065, differs.'
    """
    if len(readings) < 2:
        raise InputError("readings", f"{len(readings)}", "there have to be at least two")
    verdict = _together([row.verdict for row in readings.values()])
    verdicts = [row.verdict for name, row in readings.items() if name not in ours]
    if verdict == "depends" and all(one in FAILED for one in verdicts):
        verdict = "in our reading"
    opening = _opening(on, verdict, {row.verdict for row in readings.values()})
    outcomes = [_outcome(name, row) for name, row in readings.items()]
    full_note = " ".join([opening, *outcomes, *([note] if note and verdict != "agrees" else [])])
    name, row = next(iter(readings.items()))
    words = f"{computed_text(row)} ({name})"
    return replace(row, item=item, verdict=verdict, note=full_note, words=words)


def _opening(on: str, verdict: Verdict, outcomes: set[Verdict]) -> str:
    """Return the first sentence of a note."""
    if verdict == "in our reading":
        return f"Fails as the authors have it, holds in a reading of ours: {on}."
    if outcomes == {"agrees", "undecided"}:
        return f"Decided in some readings only; not printed: {on}."
    return f"Depends on {on}." if verdict == "depends" else f"Not printed: {on}."


def _outcome(name: str, row: Row) -> str:
    outcome = f"{name}: {computed_text(row)}, {row.verdict}."
    return outcome if row.verdict == "agrees" or not row.note else f"{outcome} {row.note}"


def _together(verdicts: list[Verdict]) -> Verdict:
    if len(set(verdicts)) == 1:
        return verdicts[0]
    if "agrees" in verdicts:
        return "depends"
    return "differs" if all(one in FAILED for one in verdicts) else "undecided"
