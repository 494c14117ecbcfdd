"""The sections of tian2020: its figures, lemmas and theorems."""

from collections.abc import Callable, Iterator

from tutelage.papers import recorded
from tutelage.papers.row import Row
from tutelage.papers.section import Figure, Section
from tutelage.papers.tian2020 import (
    KEY,
    breaking,
    cifar,
    critical,
    dynamics,
    figures,
    layers,
    plane,
    small_gradients,
)
from tutelage.papers.tian2020.readings import figure

_RECORDED = (
    "repeats the recorded trainings, which takes hours, or minutes on a graphics processor, and "
    "reports for every row whether it still holds"
)
_BOTH = (
    "Above in the setting of the authors' public code (σ = 1.5, students that start small), below "
    "in that of Section 8.16 (σ = 10)."
)


def _on_records() -> str:
    return recorded.digest(KEY)


def _always(*lists: Callable[[], list[Row]]) -> Callable[[bool], Iterator[Row]]:
    """Make a section that is the same in quick and in full runs."""
    return lambda full: (row for one in lists for row in one())


def _theorem_7(full: bool) -> Iterator[Row | Figure]:
    yield breaking.picture()
    yield from dynamics.growth()
    yield from dynamics.symmetric()
    yield from breaking.rows()


SECTIONS = (
    Section(
        "sketches",
        "Figures 1, 9 and 10: sketches",
        "Three figures are drawings without data: student, teacher and notation (Figure 1), the "
        "proofs of Lemmas 2 and 3 and of Theorem 4 near a boundary (Figure 9), and the proofs of "
        "Lemmas 5 and 6 (Figure 10).",
        lambda full: (),
    ),
    Section(
        "lemma1",
        "Lemma 1 and Corollary 1: the gradient by recursion",
        "The back-propagated gradient is D_l (A_l f* - B_l f), with A_l and B_l from the recursion "
        "V_{l-1} = V_l D_l W_lᵀ, and these are constant in each piece of the input space. A "
        "student of widths 12-10-8 and a teacher of widths 6-5-4, at 200 random inputs and along "
        "a line. The image of a polytope under a layer of ReLUs need not be convex.",
        _always(critical.recursion, lambda: [critical.image()]),
    ),
    Section(
        "theorem1",
        "Theorem 1: at an SGD critical point every example is at rest",
        "A student that hides its teacher exactly has no gradient for any single example, and its "
        "unaligned nodes can be taken away. The other direction: batches determine the gradient "
        "of each example, and the largest one, if no batch exceeds ε (Section 8.2), is that of a "
        "linear programme.",
        _always(critical.critical),
    ),
    Section(
        "fig2",
        "Figure 2: convergence in two dimensions",
        "Boundaries of two teacher nodes (solid) and six student nodes (dashed) in the plane, at "
        "four times of gradient descent; the legend has the norm of each student node's fan-out. "
        "Nodes that end on a teacher node grow, the fan-outs of the others stay small or die out. "
        "The film shows all times.",
        lambda full: plane.plane(),
    ),
    Section(
        "theorem2",
        "Theorems 2 and 3: alignment, and nodes that can be pruned",
        "Trained two-layer students with three nodes for each of four teacher nodes: every "
        "observed teacher node has an aligned student node, and the others can be pruned. Where "
        "the gradient vanishes exactly, coefficients of co-linear nodes add up to zero.",
        _always(critical.trained, small_gradients.alignment),
    ),
    Section(
        "theorem4",
        "Theorem 4: alignment in a deep network",
        "Two hidden layers, a student that is not trained: in regions in which the mixture "
        "coefficients are constant, where a student node is active on both sides of the boundary "
        "of a teacher node. A linear programme over all weights of the student above its first "
        "layer says how small the gradient can be there.",
        lambda full: (small_gradients.regions(),),
    ),
    Section(
        "theorem5",
        "Theorem 5: noisy recovery",
        "Around an exact critical point, the angle between student and teacher nodes against the "
        "largest gradient of any example. The other direction: how small the gradient can be if "
        "no student node is nearer than a given angle, or a given distance of biases.",
        _always(lambda: [critical.noisy()], small_gradients.recovery),
    ),
    Section(
        "theorem6",
        "Theorem 6: the mean push",
        "The mean of x z_k f*_j lies between w_k and w*_j, in a ratio that depends on their angle "
        "alone: by exact Gaussian averages, and by sampling.",
        _always(dynamics.push),
    ),
    Section(
        "theorem7",
        "Theorem 7: winners, symmetric students, and the slow escape",
        "Relative growth of the lengths of filters along a descent, what happens if all students "
        "feel the same residue, and how long a student node needs that starts opposite to its "
        "teacher node. The picture has two nodes of which the first feels εw* more, from three "
        "starts for each ε: the ratio of their lengths grows as exp(ε‖w*‖t) (dashed), until the "
        "second one has turned around to -w* (right) and grows again.",
        _theorem_7,
    ),
    Section(
        "fig3",
        "Figure 3: strength and specialization of student nodes",
        "Every student node of 32 runs (one colour for each run) of two-layer students with 1, 2, "
        "5 and 10 times the ten nodes of the teacher, polarity p = 1: the norm of its fan-out "
        f"against its best correlation with a teacher node. {_BOTH} Nodes that follow no teacher "
        "node have small fan-outs if there are many; from a small start there are few of them.",
        figure("nodes", figures.nodes),
        _RECORDED,
        _on_records,
    ),
    Section(
        "fig4",
        "Figure 4: the same in four hidden layers",
        "√E[β_kk] of every student node of one run against its best correlation, layer by layer "
        "(the lowest at the bottom) and over epochs, teacher 50-75-100-125, 10x. First with the "
        "authors' code: 20 inputs, 100 outputs, batches of 64 from 200,000 examples, rate 0.2, "
        "then 0.1. Then as in Section 8.16: 100 inputs, 50 outputs, batches of 16 from 10,000 "
        "fresh examples, rate 0.01.",
        figure("layers", layers.layers),
        _RECORDED,
        _on_records,
    ),
    Section(
        "fig5",
        "Figure 5: which teacher nodes are recovered",
        "Fraction of runs in which a teacher node has a student node with correlation above 0.95, "
        "from the strongest node on the left to the weakest, for several polarities p; dotted "
        f"after 5 epochs, solid after 100. {_BOTH} Weak nodes are not recovered if p is large, and "
        "more of them by wide students, if these start small.",
        figure("recovery", figures.recovered),
        _RECORDED,
        _on_records,
    ),
    Section(
        "fig6",
        "Figure 6: who follows whom",
        "Correlations of all student nodes (5x) with each of five teacher nodes (columns, p = 1) "
        "over epochs, in three runs (rows); a student node has the same colour in a row. Many turn "
        "to the strongest node first, and some leave it for a weaker one.",
        figure("followed", figures.followed),
        _RECORDED,
        _on_records,
    ),
    Section(
        "fig7",
        "Figure 7: strong teacher nodes are learned first",
        "Best correlation of each teacher node (dark: strongest, light: weakest) over epochs, mean "
        "over runs, with 5 student nodes for each; titles have the mean logarithm to base 10 of "
        f"the evaluation loss. {_BOTH}",
        figure("recovery", figures.best),
        _RECORDED,
        _on_records,
    ),
    Section(
        "fig8",
        "Figure 8: students of a ConvNet on CIFAR-10",
        "ρ_mean of each of four layers over epochs, for students with 1, 2 and 5 times the "
        "channels of a pruned teacher, and the accuracy on images that were not learned: with "
        "learning rates that are divided by the multiple, and with one for all.",
        cifar.fig_8,
        "repeats the recorded trainings, 3 runs of 100 epochs on 50,000 images, if the images are "
        "available; for a graphics processor",
        cifar.outside,
    ),
    Section(
        "lemma3",
        "Lemmas 2 to 6: independence of ReLU nodes",
        "Steps of the proofs: ReLU nodes are linearly independent, on a region unless two are "
        "opposite to each other; along a boundary there is a direction in which another node "
        "changes; every boundary has points away from those of other nodes; and a sum of nodes "
        "changes across a boundary in a known way.",
        _always(critical.independence, small_gradients.lemmas),
    ),
    Section(
        "fig11",
        "Figure 11: evaluation loss",
        "Logarithm to base 10 of the evaluation loss over epochs, mean over runs, for students of "
        f"several widths and for several polarities p. {_BOTH}",
        figure("recovery", figures.losses),
        _RECORDED,
        _on_records,
    ),
    Section(
        "construction",
        "Section 8.16: half of the data activate a node",
        "How many of 4000 examples activate the nodes of a teacher with two hidden layers.",
        lambda full: (dynamics.half(),),
    ),
    Section(
        "fig12",
        "Figure 12: uniform inputs",
        "As Figure 4, with inputs uniform on [-15, 15] and 100,000 examples in an epoch: with the "
        "authors' code in batches of 16, which Section 8.16 prints, and fresh in every epoch; in "
        "batches of 64 from a fixed set; and as in Section 8.16 alone.",
        figure("uniform", layers.uniform),
        _RECORDED,
        _on_records,
    ),
)
