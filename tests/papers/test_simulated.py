"""A paper's "good correspondence" is decided by a test: it can be refuted."""

import numpy as np
from made_up_runs import ensemble, theory

from tutelage.papers.claim import in_every_run
from tutelage.papers.numbers import computed_text
from tutelage.papers.simulated import correspondence, statement


def test_correspondence_is_earned():
    runs = ensemble(np.random.default_rng(0), runs=20)
    right = correspondence("p", "i", "good correspondence", theory(), runs)
    assert (right.verdict, right.printed) == ("agrees", "good correspondence")
    shifted = theory()
    shifted["R"][1:] += 0.2
    wrong = correspondence("p", "i", "good correspondence", shifted, runs)
    assert wrong.verdict == "differs" and wrong.computed > right.computed
    assert computed_text(right) == f"{right.computed:.2f} standard errors"


def test_the_row_of_a_sentence_lists_where_it_holds():
    assert computed_text(statement("p", "i", "it grows", [True, True])) == "holds in 2 of 2 cases"
    assert computed_text(in_every_run("p", "i", [True, False, True])) == "in 2 of 3 runs"
