"""Tables for a paper: digits from errors, rows from coordinates."""

import re

import numpy as np
import pytest
import xarray as xr

import tutelage as tl
from tutelage.results.printed_table import number


@pytest.mark.parametrize(
    ("value", "error", "written"),
    [
        (45.9137202, 1e-7, "45.9137202(1)"),
        (0.5, 0.0999, "0.5(1)"),  # rounded up
        (0.5, 0.0951, "0.5(1)"),
        (23.7, 0.021, "23.70(3)"),
        (1234.5, 20.0, "1230(20)"),
        (-3.0, 0.5, "-3.0(5)"),
        (0.0, 0.01, "0.00(1)"),
        (1 / 3, None, "0.333333"),
        (1 / 3, 0.0, "0.333333"),
        (1 / 3, 1e-30, "0.333333333333333(1)"),  # float64 has no more digits
        (2.5e-9, 1e-10, r"$2.5(1) \times 10^{-9}$"),
        (np.nan, 0.1, "--"),
        (-np.inf, None, r"$-\infty$"),
        (3, None, "3"),
        ("none", None, "none"),
    ],
)
def test_a_number_has_the_digits_that_its_error_leaves(value, error, written):
    assert number(value, error) == written


@pytest.mark.parametrize("exponent", range(-12, 9))
def test_the_written_error_is_not_smaller_than_the_error(exponent):
    rng = np.random.default_rng(exponent + 20)
    for value, part in zip(rng.normal(size=20), rng.uniform(1e-6, 0.3, 20), strict=True):
        x, error = value * 10.0**exponent, abs(part * value) * 10.0**exponent
        mantissa, digits, power = re.fullmatch(
            r"\$?([-\d.]+)\((\d+)\)(?: \\times 10\^\{(-?\d+)\}\$)?", number(x, error)
        ).groups()
        scale = 10.0 ** int(power or 0)
        unit = 1.0 if "." not in mantissa else 10.0 ** -len(mantissa.partition(".")[2])
        stated = int(digits) * unit * scale
        assert error <= stated * (1 + 1e-6) and stated <= 2 * error + 1e-300
        assert abs(float(mantissa) * scale - x) <= stated / 2 * (1 + 1e-6)


STUDY = xr.Dataset(
    {
        "coexists": (("kind", "units"), [[1.25, 2.5], [3.5, np.nan]]),
        "coexists_error": (("kind", "units"), [[0.01, 0.1], [0.1, np.nan]]),
        "coexists_reason": (("kind", "units"), [["", ""], ["", "none"]]),
        "order_of": ("kind", ["a_b", "c"]),
    },
    {"kind": ["erf", "ReLU"], "units": [2, 5]},
)


def test_rows_are_combinations_of_coordinates_and_text_is_escaped():
    lines = tl.results.table(STUDY).splitlines()
    assert lines[0] == r"\begin{tabular}{rrrr}"
    assert lines[1] == r"kind & units & coexists & order\_of \\ \hline"
    assert lines[2] == r"erf & 2 & 1.25(1) & a\_b \\"
    assert lines[5] == r"ReLU & 5 & -- & c \\"
    assert lines[6:] == [r"\end{tabular}"]


def test_markdown_has_a_line_below_the_header():
    lines = tl.results.table(STUDY, "markdown", variables=["coexists"]).splitlines()
    assert lines[:3] == ["| kind | units | coexists |", "| ---: | ---: | ---: |",
                         "| erf | 2 | 1.25(1) |"]  # fmt: skip


def test_a_study_of_findings_is_a_table():
    study = tl.sweeps.run(
        tl.equilibrium.transitions, over={"units": [2]}, activation=tl.Erf(), workers=1
    )
    text = tl.results.table(study, variables=["coexists", "order"])
    assert re.search(r"^2 & 23\.6\d*\(\d\) & continuous \\\\$", text, re.M), text


def test_a_dimension_without_values_has_its_other_coordinates_as_columns():
    rows = ("point", [0.1, 0.2])
    coords = {"units": ("point", [2, 3]), "load": ("point", [5.0, 7.0])}
    printed = tl.results.table(xr.Dataset({"length": rows}, coords), "markdown")
    assert printed.splitlines()[::2] == ["| units | load | length |", "| 2 | 5 | 0.1 |"]
    assert "| point | length |" in tl.results.table(xr.Dataset({"length": rows}), "markdown")


def test_a_long_table_and_a_missing_variable_are_refused():
    with pytest.raises(tl.InputError, match="201 rows"):
        tl.results.table(xr.Dataset({"x": ("time", np.arange(201.0))}))
    with pytest.raises(tl.InputError, match="variables"):
        tl.results.table(STUDY, variables=["lost"])
    with pytest.raises(tl.InputError, match="format"):
        tl.results.table(STUDY, "html")
