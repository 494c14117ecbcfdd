"""Beyond oostwal2019: transitions for other activations, and for K ≠ M."""

import math
from collections.abc import Iterator

import numpy as np
import xarray as xr

from tutelage import equilibrium
from tutelage.activations import (
    GELU,
    Activation,
    Erf,
    LeakyReLU,
    ReLU,
    Sigmoid,
    Softplus,
    Swish,
    Tanh,
)
from tutelage.papers.beyond.mismatch import CASES, threshold
from tutelage.papers.row import Row, unpublished
from tutelage.papers.section import Figure, Section

ACTIVATIONS: dict[str, Activation] = {
    "ReLU": ReLU(),
    "GELU": GELU(),
    "leaky ReLU, slope 0.1": LeakyReLU(0.1),
    "Swish, β = 1": Swish(1.0),
    "softplus": Softplus(),
    "tanh": Tanh(),
    "erf": Erf(),
    "sigmoid": Sigmoid(),
}
IN_THE_PAPER = ("ReLU", "erf")
FINITE = 5
UNITS = (2, FINITE, math.inf)
NOTE = (
    "oostwal2019 has erf and ReLU only. The order is {} for K = 5, with a jump of R − S of {:.3g}. "
    "Second route: the states on both sides of the load (tests/papers/test_beyond.py)."
)
NOTE_MISMATCH = (
    "oostwal2019 has K = M only; outputs carry 1/√K as in its eq. (28). Here the state in which "
    "all R_in are the same loses its stability; up to α = {:.6g} it is the lowest of all minima "
    "found. Its load is the root of one equation, the error is rounding. Above this load: {}. "
    "Second route: descents on both sides, and the equations in 40 digits "
    "(tests/papers/test_beyond.py)."
)


def compute(full: bool) -> Iterator[Row | Figure]:
    """Compute loads of transitions at K = M, and of transitions to a non-uniform R for K ≠ M."""
    table = loads()
    yield _drawn_activations(table)
    for name in ACTIVATIONS:
        if name not in IN_THE_PAPER:
            row = table.sel(activation=name, units=FINITE)
            note = NOTE.format(str(row["order"].item()), row["jump"].item())
            numbers = row["coexists"].item(), row["coexists_error"].item()
            yield unpublished(f"{name}, K = M = {FINITE}: α_c", *numbers, note)
    cases = [threshold(case, full) for case in CASES]
    yield _drawn_mismatch(cases)
    for case in cases:
        note = NOTE_MISMATCH.format(case.attrs["below"], case.attrs["beyond"])
        item = f"{case.attrs['label']}: load at which the students divide the teachers"
        yield unpublished(item, case.attrs["load"], case.attrs["load_error"], note)


def loads() -> xr.Dataset:
    """α_s, α_c and α_d of all activations for K = 2, 5 and ∞."""
    rows = [[_row(g, K) for K in UNITS] for g in ACTIVATIONS.values()]
    names = ("appears", "coexists", "unstable", "coexists_error", "jump")
    data = {name: [[r[name] for r in row] for row in rows] for name in (*names, "order")}
    return xr.Dataset(
        {name: (("activation", "units"), np.array(values)) for name, values in data.items()},
        coords={"activation": list(ACTIVATIONS), "units": list(UNITS)},
    )


def _row(g: Activation, K: float) -> dict[str, float | str]:
    transitions = equilibrium.transitions(g, K)
    assert (
        transitions.appears is not None and transitions.coexists is not None
    )  # none of the units is linear
    return {
        "appears": transitions.appears.value,
        "coexists": transitions.coexists.value,
        "unstable": math.inf if transitions.unstable is None else transitions.unstable.value,
        "coexists_error": transitions.coexists.error,
        "jump": float(transitions.jump or 0.0),
        "order": transitions.order,
    }


def _drawn_activations(table: xr.Dataset) -> Figure:
    from tutelage.papers.beyond.drawing import transition_loads

    return Figure(transition_loads(table).figure, {"": table}, "activations")


def _drawn_mismatch(cases: list[xr.Dataset]) -> Figure:
    from tutelage.papers.beyond.drawing import unequal_numbers

    data = {f"case{number}": case for number, case in enumerate(cases, start=1)}
    return Figure(unequal_numbers(cases).figure, data, "unequal")


SECTIONS = (
    Section(
        "activations",
        "Transitions for other activations, and for K ≠ M",
        "First: the loads at which hidden units specialize, for K = 2, 5 and K → ∞; bars reach "
        "from α_s, where a specialized state appears, to α_d, where R = S loses its stability (an "
        "arrow if never), symbols are at α_c. oostwal2019 has erf and ReLU. Activations that are "
        "linear plus an even function (GELU, Swish, softplus, leaky ReLU) behave as the ReLU, "
        "those that saturate as erf. Second: the largest difference of overlaps R_in of one "
        "student, in the state of lowest free energy, for students with more or fewer units than "
        "their teacher; lines are where it begins. Two ReLU students divide three teachers as one "
        "and two, two erf students take one each and share the third; of three students of two "
        "teachers two specialize.",
        compute,
        "15 instead of 5 loads for each K ≠ M in addition to the two next to the transition",
    ),
)
