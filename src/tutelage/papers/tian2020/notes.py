"""Notes of tian2020: measurements where a statement depends on the setting or stays undecided.

Numbers are those of the recorded runs, which docs/deep.md describes.
"""

PLANE = (
    "In one of the 12 starts a student is left without any node on the side of a teacher node: it "
    "has the opposite one, and two nodes that fire on all examples and grow. Its loss goes to 0 "
    "all the same (docs/deep.md, tests/papers/tian2020/test_opposite.py). In most other starts "
    "unaligned nodes end below their first norm."
)
FEW_NODES = (
    "Few nodes of 2x students are left below 0.8, and where strengths of teacher nodes differ "
    "(p = 1) those of the weak ones are small, too (docs/deep.md)."
)
START = (
    "Students that begin small recover more teacher nodes the more nodes they have; from a start "
    "as large as that of the text at σ = 10 the nodes of wide students hardly turn. The report "
    "has the curve over the scale of the start (beyond the papers; docs/deep.md)."
)
TURNING = (
    "Most of the recovery happens before epoch 5: an epoch has 625 steps in the text and 1000 "
    "in the code."
)
ONE_RUN = (
    "The paper does not say whether a title is one run or a mean. It agrees if it lies between the "
    "lowest and the highest recorded run, is undecided if it lies outside by less than their "
    "distance (one more run of 64 is outside with the probability 2/65), and differs beyond."
)
GENERALIZATION = (
    "With equal or nearly equal teacher nodes most 1x students recover all of them, and then go on "
    "to a loss of 0 faster than wide ones; the few that get stuck have most of the mean loss."
)
LARGE_LOSSES = (
    "In the code's setting {} of {} students with 1x are stuck, with a loss above {:g}; the loss "
    "of the others is at most {:.0e}. A t test does not decide a mean of such losses. If the mean "
    "of 1x were at most that of 10x, {:.1e}, so many large losses would have a probability of at "
    "most {:.0e} (Markov's inequality). This test was chosen after the t test had left the mean "
    "undecided."
)
LATER = (
    "In the text's setting no layer is ahead at epoch 10; layer 1 is at epoch 20 (docs/deep.md)."
)
L_SHAPE = "With 20 inputs and the code's rates half of layer 1 is found at epoch 10; with 100 none."
NECESSARY = (
    "tian2020, abstract: with equal teacher nodes (p = 0) students with as many nodes as the "
    "teacher recover all 20 of them (correlation > 0.95) in {}; in the authors' code these end "
    "with a loss below 10⁻¹⁰, at a critical point. At p = 0.5 they do so in some runs only, and "
    "10x students in every run."
)
STRONG_UNSPECIALIZED = (
    "tian2020, Sec. 8.17: student nodes with a best correlation < 0.8 whose strength is above the "
    "median of nodes with > 0.95, in one recorded run of each setting, layers 1 to 4: {}. In layer "
    "4 β is constant, as in a network of two layers, where Theorem 3 holds."
)
