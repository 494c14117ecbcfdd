"""The lemmas and theorems of ``tian2020`` as checks.

`recursion_error` (Lemma 1), `mixtures` and `pieces` (Corollary 1), `interpolation` and `disguise`
(Theorem 1), `alignment` (Theorems 2 and 3), `noisy_recovery` (Theorem 5), `mean_push` (Theorem 6)
and `escape_time`, `descent`, `growth` and `symmetric_flow` (Theorem 7).  `independence` has the
linear programme of Theorems 2 to 5 in their own direction, and of Lemmas 2, 3, 5 and 6.

Arguments are not validated here: students and teachers have the same depth, inputs and outputs.
"""

from tutelage.papers.tian2020.theorems.alignment import alignment
from tutelage.papers.tian2020.theorems.critical import disguise, interpolation
from tutelage.papers.tian2020.theorems.gradients import (
    backpropagated_gradients,
    mixtures,
    pieces,
    recursion_error,
    recursive_gradients,
)
from tutelage.papers.tian2020.theorems.growth import descent, growth, symmetric_flow
from tutelage.papers.tian2020.theorems.noisy import noisy_recovery
from tutelage.papers.tian2020.theorems.push import escape_time, mean_push

__all__ = [
    "alignment",
    "backpropagated_gradients",
    "descent",
    "disguise",
    "escape_time",
    "growth",
    "interpolation",
    "mean_push",
    "mixtures",
    "noisy_recovery",
    "pieces",
    "recursion_error",
    "recursive_gradients",
    "symmetric_flow",
]
