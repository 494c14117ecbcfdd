"""A paper's "good correspondence" is decided by a test: it can be refuted."""

import numpy as np
from made_up_runs import ensemble, theory

from tutelage.papers.simulated import correspondence


def test_correspondence_is_earned():
    runs = ensemble(np.random.default_rng(0), runs=20)
    right = correspondence("p", "i", "good correspondence", theory(), runs)
    assert (right.verdict, right.printed) == ("agrees", "good correspondence")
    shifted = theory()
    shifted["R"][1:] += 0.2
    wrong = correspondence("p", "i", "good correspondence", shifted, runs)
    assert wrong.verdict == "differs" and wrong.computed > right.computed
