"""The lemmas and theorems of ``tian2020`` as checks.

`recursion_error` (Lemma 1), `mixtures` and `pieces` (Corollary 1), `interpolation` and `disguise`
(Theorem 1), `alignment` (Theorems 2 and 3), `noisy_recovery` (Theorem 5), `mean_push` (Theorem 6)
and `escape_time`, `descent`, `growth` and `symmetric_flow` (Theorem 7).
"""

from tutelage._lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, __file__)
