"""Oostwal, Straat and Biehl (2019): eqs. (14) to (16), the limit of high temperature.

There the training error of eq. (13) is replaced by the generalization error, and examples and
temperature enter through α = βP/(KN) alone.  Here both are computed at finite temperatures: by the
quenched theory of K → ∞, and by networks that learn drawn examples.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

import xarray as xr

from tutelage import equilibrium
from tutelage.activations import Erf
from tutelage.papers import recorded
from tutelage.papers.beyond import temperature_runs as runs
from tutelage.papers.oostwal2019 import KEY
from tutelage.papers.row import Row, closed_form, compare, formula

LOAD = 90.0
HIGH = 1e4


def high_temperature() -> Iterator[Row]:
    """Eqs. (14) to (16) as limits of finite temperatures."""
    limit = max(equilibrium.states(Erf(), math.inf, LOAD), key=lambda s: s.R)
    value = formula(limit.generalization_error)
    for name in ("training_error", "generalization_error"):
        computed, error = _extrapolated(name)
        words = name.replace("_", " ")
        item = f"eq. (14), {words} for β → 0 at α = {LOAD:g}, K → ∞, erf"
        yield compare(KEY, item, value, computed, error)
    data = recorded.load_recorded("beyond", "temperature")
    hottest = runs.HOT[-1]
    row = _ratio(data.sel(run=hottest.name), hottest)
    yield replace(row, recorded=recorded.describe_origin(data))


def _extrapolated(name: str) -> tuple[float, float]:
    """Extrapolate to T → ∞ from three temperatures (Richardson); also return the error."""
    values = []
    for T in (HIGH, 2 * HIGH, 4 * HIGH):
        listed = equilibrium.states(Erf(), math.inf, LOAD * T, temperature=T)
        values.append(getattr(max(listed, key=lambda s: s.R), name))
    near, far = 2 * values[2] - values[1], 2 * values[1] - values[0]
    return near, abs(near - far)


def _ratio(one: xr.Dataset, run: runs.SampledRun) -> Row:
    """Return training over generalization error of networks with two units."""
    numbers = {
        name: (float(x["mean"]), float(x["standard_error"]))
        for name in ("training_error", "generalization_error")
        for x in (one.sel(quantity=name),)
    }
    (training, a), (error, b) = numbers.values()
    ratio = training / error
    spread = ratio * math.hypot(a / training, b / error)
    item = (
        f"eq. (14), ε_t/ε_g of networks that learn {round(run.load * run.K * run.N)} drawn "
        f"examples at T = {run.temperature:g}, K = {run.K}, N = {run.N}, erf"
    )
    return compare(KEY, item, closed_form("1 for β → 0", 1.0), ratio, 2 * spread)
