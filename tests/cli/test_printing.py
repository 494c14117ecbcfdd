"""Tables on terminals of any width: no number is cut."""

import pytest
from rich.console import Console

from tutelage.cli import printing

NUMBERS = ["0.978881", "-0.348372", "1.23456e-05", "4.05577868 ± 5.5e-12"]
SENTENCE = "norms stay bounded at every learning rate up to 64"


def shown(monkeypatch, capsys, width):
    monkeypatch.setattr(printing, "console", lambda: Console(width=width, highlight=False))
    table = printing.framed("a title", "epoch", *(f"heading {n}" for n in range(4)), "why")
    table.caption = "2 of 9 rows"
    for epoch in ("1", "10000"):
        table.add_row(epoch, *NUMBERS, SENTENCE)
    printing.show(table)
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_numbers_are_never_wrapped(monkeypatch, capsys, width):
    out = shown(monkeypatch, capsys, width)
    assert all(out.count(number) == 2 for number in NUMBERS)
    assert "…" not in out and max(map(len, out.splitlines())) <= width
    assert "a title" in out and "2 of 9 rows" in out


def test_a_table_stays_one_where_it_fits(monkeypatch, capsys):
    assert "heading 3" in shown(monkeypatch, capsys, 160).splitlines()[2]
    lines = shown(monkeypatch, capsys, 60).splitlines()
    assert sum(line.split() == ["heading", "3", *NUMBERS[3].split()] for line in lines) == 2
