"""Deep ReLU students of finite width that learn from a teacher of the same depth (``tian2020``).

`teacher` and `student` build networks, `train` trains many students at once and `sweep` those of
several widths; `correlations`, `recovery_rate`, `mean_correlation` and `focus_shifts` say who
follows whom, `networks` takes the trained networks out of a result.

The theorems as checks: `recursion_error` (Lemma 1), `pieces` (Corollary 1), `interpolation` and
`disguise` (Theorem 1), `alignment` and `prune` (Theorems 2 and 3), `noisy_recovery` (Theorem 5),
`mean_push` (Theorem 6), `descent`, `growth` and `symmetric_flow` (Theorem 7), `escape_time`.
`online_deviation` compares with the theory of infinitely many inputs.

Images: `cifar10` reads them, `train_on_images` pre-trains a `convnet`, prunes it and teaches
students; `channel_correlations`, `channel_strengths` and `prune_channels` are its parts.
"""

from tutelage._lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, __file__)
