"""What belongs to which part of milletari2019: its figures, equations and passages."""

from collections.abc import Iterator

from tutelage.papers.milletari2019 import architectures, equations, figures, spectra
from tutelage.papers.row import Row
from tutelage.papers.section import Figure, Section


def _text3(full: bool) -> Iterator[Row]:
    yield from architectures.sizes()
    yield from architectures.unseen(full)
    yield from architectures.stuck(full)


def _fig1(full: bool) -> Iterator[Row | Figure]:
    yield figures.figure_1(full)
    yield figures.eigenvalues(full)
    yield from spectra.fig_1(full)


def _fig2(full: bool) -> Iterator[Row | Figure]:
    yield figures.figure_2(full)
    yield figures.tolerances(full)
    yield from spectra.fig_2(full)


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
        "sigmoid at two levels of noise, and what Section 2.4 says of their limits.",
        lambda full: equations.slopes(),
    ),
    Section(
        "text3",
        "Section 3: data and architectures",
        "How many examples there are, how networks do on points that they have not learned, and "
        "how often networks of two hidden layers end with an output that no longer depends on "
        "the input. A row that compares two networks has the mean difference over runs that begin "
        "with the same weights, and the verdict of a t test at the level 0.01.",
        _text3,
        "400 instead of 200 networks of two hidden layers on the linear task; networks of one "
        "learn for 2300 instead of 1000 epochs.",
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
        "medians over runs and bands from 10 % to 90 %, dots in (b) are runs. Swish learns "
        "fastest; about half of the eigenvalues of ReLU are zero all along. The second picture has "
        "the spectra themselves, non-linear task, one hidden layer.",
        _fig1,
        "20 runs of 2300 epochs with spectra at 25 of them, instead of 20 to 200 runs of 1000 "
        "(linear), 600 (non-linear, one layer) or 300 epochs (two) with spectra at 3 to 8.",
    ),
    Section(
        "fig2",
        "Figure 2: digits, one hidden layer of 25 units",
        "(a) Loss, fraction α of negative eigenvalues, fraction γ of zero eigenvalues and fraction "
        "of zero residuals for the 1797 digits of 8 × 8 pixels, and (b) the eigenvalues at the end "
        "of training; medians and bands from 10 % to 90 %. The second picture shows how γ depends "
        "on what counts as zero.",
        _fig2,
        "12 runs of 1000 epochs with spectra at 5 epochs, instead of 6 runs of 300 epochs without "
        "and 2 with spectra at two epochs.",
    ),
)
