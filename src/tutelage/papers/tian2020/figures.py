"""Figures 3, 5, 6, 7 and 11 of tian2020: two layers.

Each function takes the data of a training in every setting: recorded, or of a full run.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr

from tutelage import figures as draw
from tutelage.figures.text import share_legend
from tutelage.papers.claim import LEVEL, claim, counterexample
from tutelage.papers.readings import in_each_reading
from tutelage.papers.row import Row, Verdict, compare, digits
from tutelage.papers.section import Figure
from tutelage.papers.simulated import statement
from tutelage.papers.tian2020 import KEY, notes
from tutelage.papers.tian2020.drawing import best_of_nodes, followers, log_loss
from tutelage.papers.tian2020.readings import (
    MAX_STAGES,
    NAMES,
    SETTING,
    Data,
    Parts,
    decided,
    each,
    in_stages,
    load_recorded,
    panels,
)

LARGE_LOSS = 0.01  # of a student that is stuck at p = 0
# Figure 7, titles: logarithms to base 10, as in the authors' code.
LOG_LOSSES = {0.5: "-6.45", 1.0: "-6.50", 1.5: "-6.50", 2.0: "-5.09", 2.5: "-5.30"}


def nodes(data: Data) -> Parts:
    """Draw Figure 3: strength against correlation of all student nodes, for each multiple."""
    multiples = next(iter(data.values()))["multiple"].values
    picture, grid = panels(len(data), len(multiples), (3.4, 3.2), sharex=True, sharey="row")
    for axes, (setting, one) in zip(grid, data.items(), strict=True):
        drawn = one[["student_correlation_1", "strength_1"]].rename(shown="run")
        drawn = drawn.expand_dims(epoch=[100])
        for ax, multiple in zip(axes, multiples, strict=True):
            draw.specialization(drawn.sel(multiple=multiple), axes=ax)
            loss = float(one["evaluation_loss"].sel(multiple=multiple, polarity=1.0).mean())
            ax.set_title(f"{multiple}x, $p = 1$, loss = {loss:.1g}")
            ax.label_outer()
        axes[0].set_ylabel(f"{NAMES[setting]}\n{axes[0].get_ylabel()}")
    yield Figure(picture, dict(data))
    on = f"{SETTING} and the polarity"
    for multiple in multiples:
        item = f"Fig. 3, loss in the title, {multiple}x"
        yield in_each_reading(item, on, _by_polarity(data, item, _loss, multiple))
    for multiple in multiples[1:]:
        item = f"Fig. 3, ‖v_k‖ of nodes with correlation < 0.8 over those with > 0.95, {multiple}x"
        rows = _by_polarity(data, item, _in_stages, multiple)
        yield in_each_reading(item, on, rows, notes.FEW_NODES)


def _by_polarity(
    data: Data, item: str, row: Callable[[str, xr.Dataset], Row], multiple: int
) -> dict[str, Row]:
    return {
        f"{NAMES[setting]}, p = {p:g}": row(item, one.sel(multiple=multiple, polarity=p))
        for setting, one in data.items()
        for p in (0.0, 1.0)
    }


def _loss(item: str, one: xr.Dataset) -> Row:
    losses = one["evaluation_loss"].values.astype(float)
    return compare(KEY, item, digits("0.00"), float(losses.mean()), standard_error(losses))


def _in_stages(item: str, one: xr.Dataset) -> Row:
    return in_stages(one, lambda runs, level: [_ratio(item, runs, level)])[0]


def _ratio(item: str, one: xr.Dataset, level: float) -> Row:
    """Test the ratio of strengths over runs with a node below 0.8; this takes at least two runs."""
    ratios = one["weak_over_strong"].dropna("run").values.astype(float)
    samples = ratios if len(ratios) > 1 else np.full(2, np.nan)
    return claim(KEY, item, samples, "<", 0.5, level=level)


def standard_error(samples: np.ndarray) -> float:
    """Return the standard error of a mean over runs."""
    return float(samples.std(ddof=1) / math.sqrt(len(samples)))


def recovered(data: Data) -> Parts:
    """Draw Figure 5: rate of recovery of each teacher node, for each polarity."""
    polarities = [p for p in next(iter(data.values()))["polarity"].values if p > 0]
    picture, grid = panels(len(data), len(polarities), (2.9, 2.9), sharex=True, sharey=True)
    for axes, (setting, one) in zip(grid, data.items(), strict=True):
        drawn = one[["recovered_1"]].rename(recovered_1="teacher_correlation_1", shown="epoch")
        for ax, p in zip(axes, polarities, strict=True):
            draw.recovery(drawn.sel(polarity=p), axes=ax).set_title(f"$p = {p:g}$")
            ax.label_outer()
        axes[0].set_ylabel(f"{NAMES[setting]}\nruns with > 0.95")
    share_legend(grid.ravel())
    yield Figure(picture, {name: one[["recovered_1"]] for name, one in data.items()})
    yield from decided(data, _of_strong_nodes)
    for p in polarities:
        yield _wider(data, float(p))
    yield from decided(data, _stuck)
    yield from decided(data, _dotted)
    yield _necessary(data)


def _of_strong_nodes(one: xr.Dataset, level: float) -> list[Row]:
    rates = one["recovered_1"].isel(shown=-1).sel(multiple=10)
    half = rates.sizes["teacher_1"] // 2
    strong = rates.isel(teacher_1=slice(half)).mean("teacher_1")
    weak = rates.isel(teacher_1=slice(half, None)).mean("teacher_1")
    first = "Fig. 5, recovered fraction of strong nodes less that of weak ones, p = 2.5, 10x"
    second = "Fig. 5, recovered fraction of weak nodes, p = 0.5 less p = 2.5, 10x"
    return [
        claim(KEY, first, (strong - weak).sel(polarity=2.5).values, level=level),
        claim(KEY, second, (weak.sel(polarity=0.5) - weak.sel(polarity=2.5)).values, level=level),
    ]


def _wider(data: Data, p: float) -> Row:
    """Compare 10x with 1x in both settings, and from a start ten times smaller."""
    item = f"Fig. 5, recovered fraction of teacher nodes, 10x less 1x, p = {p:g}"

    def more(one: xr.Dataset, level: float) -> list[Row]:
        rates = one["recovered_1"].isel(shown=-1).sel(polarity=p).mean("teacher_1")
        return [_difference(item, rates, level)]

    readings = {name: row for name, (row,) in each(data, more).items()}
    starts = load_recorded("starts")["text"]["recovered"]
    if p in starts["polarity"]:
        fraction = starts.sel(polarity=p, start_scale=0.1) / 20
        readings["Sec. 8.16, start ten times smaller"] = _difference(item, fraction, LEVEL)
    return in_each_reading(item, "the scale of the students' start", readings, notes.START)


def _difference(item: str, difference: xr.DataArray, level: float) -> Row:
    more = difference.sel(multiple=10).values - difference.sel(multiple=1).values
    return claim(KEY, item, more, level=level)


def _stuck(one: xr.Dataset, level: float) -> list[Row]:
    item = "Fig. 5, recovered fraction of teacher nodes with 1x, mean over p: it gets stuck"
    rates = one["recovered_1"].isel(shown=-1).sel(multiple=1, polarity=list(LOG_LOSSES))
    return [claim(KEY, item, rates.mean(("teacher_1", "polarity")).values, "<", 1.0, level=level)]


def _dotted(one: xr.Dataset, level: float) -> list[Row]:
    """Return the dotted lines: rates of recovery after 5 epochs."""
    item = "Fig. 5, recovered fraction of teacher nodes, epoch 100 less epoch 5, mean over p, {}x"
    mean = one["recovered_1"].sel(polarity=list(LOG_LOSSES)).mean(("teacher_1", "polarity"))
    gained = mean.isel(shown=-1) - mean.isel(shown=0)
    return [claim(KEY, item.format(m), gained.sel(multiple=m).values, level=level) for m in (1, 10)]


def _necessary(data: Data) -> Row:
    """Decide whether as many student as teacher nodes can specialize at a critical point."""
    item = "Abstract, specialization without over-parameterization: 1x students"
    printed = "over-parameterization is a necessary condition for specialization"
    readings, words = {}, []
    for setting, one in data.items():
        all_nodes = one["recovered_1"].isel(shown=-1).all("teacher_1")
        narrow = all_nodes.sel(multiple=1, polarity=0.0).values
        words += [f"{narrow.sum()} of {narrow.size} runs ({NAMES[setting]})"]
        readings[f"for specialization, {NAMES[setting]}"] = counterexample(
            KEY, item, printed, refuted=bool(narrow.any()), note=""
        )
        spared = [all_nodes.sel(multiple=m, polarity=0.5).values.all() for m in (1, 10)]
        readings[f"for all nodes in every run, {NAMES[setting]}"] = statement(
            KEY, item, printed, [not spared[0], spared[1]]
        )
    ours = [name for name in readings if name.startswith("for all nodes")]
    note = notes.NECESSARY.format(" and ".join(words))
    row = in_each_reading(item, "what it is necessary for", readings, note, ours=ours)
    return replace(row, printed=printed)


def followed(data: Data) -> Parts:
    """Draw Figure 6: student nodes that follow the five teacher nodes, three runs."""
    for setting, one in data.items():
        picture, grid = panels(3, 5, (2.6, 2.1), sharex=True, sharey=True)
        runs = one[["correlation_1"]].rename(row="run")
        for run, axes in enumerate(grid):
            for teacher, ax in enumerate(axes):
                followers(runs, teacher, run, axes=ax).label_outer()
        picture.suptitle(NAMES[setting])
        yield Figure(picture, {"": one}, setting)
    yield from decided(data, _following, note=notes.TURNING)


def _following(one: xr.Dataset, level: float) -> list[Row]:
    first = one["first_record"]
    late = first.isel(teacher_1=-1) - first.isel(teacher_1=0)
    nearest = one["with_strongest"] - one["with_weakest"]
    samples = {
        "Fig. 6, student nodes nearest to the strongest node less the weakest, epoch 5": nearest,
        "Fig. 6, nodes nearest to the strongest one at epoch 1 that end with another": one[
            "left_strongest"
        ].sel(epoch=1),
        "Fig. 6, first epoch with a correlation > 0.95, weakest less strongest": late,
    }
    rows = [claim(KEY, item, these.values, level=level) for item, these in samples.items()]
    item = "Sec. 5.3, student nodes that end with the strongest one (> 0.95)"
    return [*rows, claim(KEY, item, one["end_with_strongest"].values, ">", 1.0, level=level)]


def best(data: Data) -> Parts:
    """Draw Figure 7: best correlation of each teacher node over epochs, 5x."""
    polarities = list(LOG_LOSSES)
    picture, grid = panels(len(data), len(polarities), (2.9, 2.7), sharex=True, sharey=True)
    for axes, (setting, one) in zip(grid, data.items(), strict=True):
        for ax, p in zip(axes, polarities, strict=True):
            best_of_nodes(one["best_correlation_1"].sel(polarity=p), ax)
            mean = float(_log_losses(one, p).mean())
            ax.set_title(rf"$p = {p:g}$: ${mean:.2f}$")
            ax.label_outer()
        axes[0].set_ylabel(f"{NAMES[setting]}\nbest correlation")
    yield Figure(picture, {name: one[["best_correlation_1"]] for name, one in data.items()})
    for p, printed in LOG_LOSSES.items():
        item = f"Fig. 7, log₁₀ of the loss of a run, p = {p:g}, 5x"
        rows = {
            NAMES[name]: _one_run(item, printed, _log_losses(one, p)) for name, one in data.items()
        }
        yield in_each_reading(item, SETTING, rows, notes.ONE_RUN)
    yield from decided(data, _later)


def _log_losses(one: xr.Dataset, p: float) -> np.ndarray:
    return np.log10(one["evaluation_loss"].sel(polarity=p, multiple=5).values.astype(float))


def _one_run(item: str, printed: str, logarithms: np.ndarray) -> Row:
    """Decide whether the printed number lies within the recorded runs.

    It "agrees" inside their range, is "undecided" outside by less than the width of the range, as
    one more run of n is outside with the probability 2/(n + 1), and "differs" farther away.
    """
    stated, (low, high) = digits(printed), (float(logarithms.min()), float(logarithms.max()))
    outside = max(low - stated.value, stated.value - high) - stated.tolerance
    verdict: Verdict = "agrees" if outside <= 0 else "undecided"
    if outside > high - low:
        verdict = "differs"
    words = f"{len(logarithms)} runs, {low:.2f} to {high:.2f}, median {np.median(logarithms):.2f}"
    row = compare(KEY, item, stated, float(logarithms.mean()), standard_error(logarithms))
    return replace(row, verdict=verdict, words=words)


def _later(one: xr.Dataset, level: float) -> list[Row]:
    item = "Fig. 7, first epoch with correlation > 0.9, weaker half less stronger half, p = {:g}"
    return [
        claim(KEY, item.format(p), one["delay"].sel(polarity=p).values, level=level)
        for p in (0.5, 2.5)
    ]


def losses(data: Data) -> Parts:
    """Draw Figure 11: evaluation loss over epochs, for each polarity."""
    polarities = next(iter(data.values()))["polarity"].values
    picture, grid = panels(len(data), len(polarities), (2.5, 2.7), sharex=True, sharey="row")
    for axes, (setting, one) in zip(grid, data.items(), strict=True):
        for ax, p in zip(axes, polarities, strict=True):
            log_loss(one["log10_loss"].sel(polarity=p), ax).set_title(f"$p = {p:g}$")
            ax.label_outer()
        axes[0].set_ylabel(f"{NAMES[setting]}\nmean $\\log_{{10}}$ of the loss")
        axes[0].set_ylim(-8.0 if setting == "code" else -5.0, 1.0)
    share_legend(grid.ravel())
    yield Figure(picture, {name: one[["log10_loss"]] for name, one in data.items()})
    for p in polarities:
        yield _better(data, float(p))


def _better(data: Data, p: float) -> Row:
    item = f"Fig. 11, loss at the end, 1x over 10x, log₁₀, p = {p:g}"

    def mean(one: xr.Dataset, level: float) -> list[Row]:
        end = one["evaluation_loss"].sel(polarity=p).astype(float)
        return [claim(KEY, item, (end.sel(multiple=1) - end.sel(multiple=10)).values, level=level)]

    def lower(one: xr.Dataset, level: float) -> list[Row]:
        return mean(one.assign(evaluation_loss=np.log10(one["evaluation_loss"])), level)

    readings = {name: row for name, (row,) in each(data, lower).items()}
    readings |= {f"{name}, mean loss": row for name, (row,) in each(data, mean).items()}
    note = notes.GENERALIZATION if p < 1 else ""
    if p == 0:
        reading = f"{NAMES['code']}, mean loss"
        readings[reading], words = _by_large_losses(readings[reading], data["code"], p)
        note = f"{note} {words}"
    on = f"{SETTING} and whether losses or their logarithms are averaged"
    return in_each_reading(item, on, readings, note)


def _by_large_losses(row: Row, one: xr.Dataset, p: float) -> tuple[Row, str]:
    """Decide by few large losses whether the mean loss of 1x is greater than that of 10x.

    Losses are not negative: if their mean is at most m, one of them is above L with a probability
    of at most m/L (Markov), and n of them with a binomial probability.  Here m is the mean of 10x
    plus three standard errors.
    """
    from scipy.stats import binom

    losses = one["evaluation_loss"].sel(polarity=p).astype(float)
    narrow, wide = losses.sel(multiple=1).values, losses.sel(multiple=10).values
    large = int(np.sum(narrow > LARGE_LOSS))
    highest_mean = float(wide.mean()) + 3 * standard_error(wide)
    chance = float(binom.sf(large - 1, narrow.size, highest_mean / LARGE_LOSS))
    others = float(narrow[narrow <= LARGE_LOSS].max())
    words = notes.LARGE_LOSSES.format(large, narrow.size, LARGE_LOSS, others, highest_mean, chance)
    decides = row.verdict == "undecided" and chance < LEVEL / MAX_STAGES
    return (replace(row, verdict="agrees", note="") if decides else row), words
