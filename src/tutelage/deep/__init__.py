"""Deep ReLU students of finite width that learn from a teacher of the same depth (``tian2020``).

`teacher`, `student` and `network` build networks, `train` trains many students at once, of one or
several widths; `correlations`, `recovery_rate`, `mean_correlation` and `focus_shifts` measure which
nodes follow which, `networks` extracts the trained networks from a result, `prune` removes the
nodes that follow no teacher node.

`deep.images` trains students of a convolutional teacher on CIFAR-10.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
