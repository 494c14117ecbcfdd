"""The sections of milletari2019: its figures, equations and passages."""

from collections.abc import Iterator

from tutelage.papers import recorded
from tutelage.papers.milletari2019 import (
    KEY,
    architectures,
    equations,
    figures,
    spectra,
    widths,
)
from tutelage.papers.milletari2019.trainings import SETTINGS
from tutelage.papers.row import Row
from tutelage.papers.section import Figure, Section


def _text3(full: bool) -> Iterator[Row | Figure]:
    yield from architectures.sizes()
    yield from architectures.unseen(full)
    yield from architectures.stuck(full)


def _fig1(full: bool) -> Iterator[Row | Figure]:
    yield from (figures.figure_1(full, setting) for setting in SETTINGS)
    yield figures.eigenvalues(full)
    yield figures.negative(full)
    yield from spectra.fig_1(full)


def _fig2(full: bool) -> Iterator[Row | Figure]:
    yield from (figures.figure_2(full, setting) for setting in SETTINGS)
    yield figures.tolerances(full)
    if full:
        yield from recorded.compare_with_recorded(spectra.fig_2(True), spectra.fig_2(False))
    else:
        origin = recorded.describe_origin(recorded.load_recorded(KEY, "digits"))
        yield from recorded.mark_recorded(spectra.fig_2(False), origin)
    yield from widths.wider(full)


SECTIONS = (
    Section(
        "eq2",
        "Equations (1) to (4): gates and their states",
        "The partition function of a layer, and the mean state of gates {0, 1} and {−1, 1} by "
        "automatic differentiation of log Z. Gates that are drawn have the mean-field signal in "
        "the first layer; behind other gates they do not.",
        lambda full: equations.probabilities(),
    ),
    Section(
        "eq5",
        "Equations (5) and (6): the mean transmitted signal is Swish, and without noise the ReLU",
        "⟨j⟩ = h σ(βh) as it follows from log Z, at two levels of noise and both signs of the "
        "field, and the limits β → ∞ and β → 0.",
        lambda full: equations.signals(),
    ),
    Section(
        "eq7",
        "Equation (7): factors of back-propagation",
        "The gradient of eq. (7) against automatic differentiation, the factors of Swish and of a "
        "sigmoid at two levels of noise, and the statements of Section 2.4 on their limits.",
        lambda full: equations.slopes(),
    ),
    Section(
        "text3",
        "Section 3: data and architectures",
        "How many examples there are, how networks do on points that they have not learned, and "
        "how often networks of two hidden layers end with an output that no longer depends on "
        "the input, in the setting of the authors' public code and in that of the text. A row that "
        "compares two networks has the mean difference over runs that begin with the same weights; "
        "recorded runs are doubled until t tests at the level 0.01 decide: up to 800 on the linear "
        "task, 100 or 400 on the non-linear one, and 3200 for 8-2 against 10-2.",
        _text3,
        "Repeats the training of all recorded networks, in about three minutes of one core.",
        lambda: recorded.digest(KEY),
    ),
    Section(
        "eq16",
        "Equations (15) and (16): the cross-entropy",
        "The probability of labels by summing over all multipliers, and the saddle point for the "
        "number of labels that are 1, against the printed expressions.",
        lambda full: equations.labels(),
    ),
    Section(
        "fig1",
        "Figure 1: training and Hessian spectra on two small sets",
        "(a) Losses, (b) fraction α of negative eigenvalues against the loss, (c) fraction of zero "
        "residuals and (d) fraction γ of zero eigenvalues for the linear (left) and the non-linear "
        "task (right), with one hidden layer of 10 units (above) and two of 8 and 2 (below); "
        "medians over runs and bands from 10 % to 90 %, dots in (b) are runs: first in the setting "
        "of the authors' public code, then in that of the text. Swish learns fastest; about half "
        "of the eigenvalues of ReLU are zero throughout the training. The third picture has the "
        "spectra themselves, non-linear task, one hidden layer; the fourth how α at the end "
        "depends on what counts as zero: the negative eigenvalues of Swish are many and small.",
        _fig1,
        "Spectra at 24 instead of 7 epochs; in the text's setting 2300 epochs instead of 1000 "
        "(linear) and 600 (non-linear); 20 instead of 10 networks of two hidden layers, and "
        "networks on the non-linear task are doubled until claims are decided, too; an estimated "
        "ten minutes of one core.",
    ),
    Section(
        "fig2",
        "Figure 2: digits, one hidden layer of 25 units",
        "(a) Loss, fraction α of negative eigenvalues, fraction γ of zero eigenvalues and fraction "
        "of zero residuals for digits of 8 × 8 pixels, and (b) the eigenvalues at the end of "
        "training; medians and bands from 10 % to 90 % of recorded networks: first in the authors' "
        "setting (1437 images, pixels over 255, ten sigmoid outputs, 2000 epochs), then in that of "
        "the text (1797 images, pixels over 16, softmax, 300 epochs). The third picture shows how "
        "α and γ depend on what counts as zero.",
        _fig2,
        "12 new networks with spectra at four epochs, instead of 6 with spectra at the end; in "
        "the text's setting 1000 instead of 300 epochs; and the 24 recorded networks of each "
        "activation and setting again; an estimated fourteen minutes of one core.",
        lambda: recorded.digest(KEY),
    ),
)
