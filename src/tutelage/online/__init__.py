"""On-line learning: equations -> trajectory -> fixed points -> branches -> critical learning rates.

`evolve` integrates the order-parameter equations for any scenario and learning rate, and
`evolve_symmetric` those of a permutation-symmetric state, at a cost that does not grow with K.
`fixed_point` and `fixed_points` find states that do not move, with eigenvalues and directions;
`branch` follows one through folds. `critical_learning_rates` says where behaviour changes,
`plateau` how high and how long a plateau is, `best_learning_rate` and `best_schedule` how to
learn fastest, `best_tracking` how to follow teachers that drift.

Names are loaded when they are first used: a curve does not wait for solvers it does not need.

Other packages may use the modules `linearization`, `steps`, `stationary.escape`,
`stationary.plateaus` and `stationary.stability`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
