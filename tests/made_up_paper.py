"""A made-up paper, with sections that need no time and a row of each verdict."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

from tutelage import papers
from tutelage.papers.paper import Paper
from tutelage.papers.recorded import mark_recorded
from tutelage.papers.row import (
    closed_form,
    compare,
    correct,
    digits,
    missing,
    not_comparable,
    unpublished,
)
from tutelage.papers.section import Figure, Section

# A note with markup, and with a word that is wider than a telephone.
SLIP = "a slip <b>, as tests/in/a/folder/of/a/folder/of/a/folder/test_what_nobody_prints.py says"


def curve(full: bool):
    """A figure with data, and a number of each verdict."""
    from matplotlib import pyplot as plt

    x = np.linspace(0.0, 1.0, 11 if full else 3)
    picture, axes = plt.subplots()
    axes.plot(x, x**2)
    yield Figure(picture, {"": xr.Dataset({"y": ("x", x**2)}, coords={"x": x})})
    yield compare("made", "one third", closed_form("1/3", 1 / 3), 1 / 3)
    yield correct("made", "a < b & c", digits("0.94"), digits("0.946"), 0.946, SLIP)
    yield not_comparable("made", "accuracy", "93 %", 0.5, "other data", 0.02)


def text(full: bool):
    yield missing("made", "the age of the universe", "13.8", "not our field")
    yield compare("made", "π", digits("3.2"), math.pi)


def new(full: bool):
    yield from mark_recorded(
        [unpublished("a rate", 1.25, 1e-3, "computed twice")], "python far.py (far away)"
    )


class Made:
    """Three sections of a made-up paper, and how often each has been computed."""

    def __init__(self):
        self.computed: list[str] = []
        self.stop_at = ""

    def section(self, name, compute, full=""):
        def counted(large):
            if self.stop_at == name:
                raise KeyboardInterrupt
            self.computed.append(name)
            yield from compute(large)

        return Section(name, f"{name}: a title", f"What {name} shows.", counted, full)

    @property
    def sections(self):
        """By the name of a module that has them."""
        figure = self.section("fig1", curve, full="more points")
        return {
            "tutelage.papers.made.sections": (figure, self.section("text", text)),
            "tutelage.papers.beyond.made": (self.section("new", new),),
        }


def install(monkeypatch: pytest.MonkeyPatch) -> Made:
    """Replace all papers by the made-up paper."""
    result = Made()
    for name, sections in result.sections.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(SECTIONS=sections))
    paper, beyond = Paper("made", "A paper", ("sections",)), Paper("beyond", "Beyond", ("made",))
    monkeypatch.setattr(papers, "PAPERS", {"made": paper, "beyond": beyond})
    return result
