"""On-line learning: equations → trajectory → fixed points → branches → critical learning rates.

`evolve` integrates the order-parameter equations for any scenario and learning rate, and
`evolve_symmetric` those of a permutation-symmetric state, at a cost that does not grow with K.
`fixed_point` and `fixed_points` find states that do not move, with eigenvalues and directions;
`branch` follows one through folds. `critical_learning_rates` finds the rates where behaviour
changes, `plateau` the height and length of a plateau, `best_learning_rate` and `best_schedule` the
rates that learn fastest, `best_tracking` those that follow drifting teachers best.

Names are loaded when they are first used: a curve does not wait for solvers it does not need.

Other packages may use the modules `linearization`, `steps`, `stationary.escape`,
`stationary.identical`, `stationary.landscape_descent`, `stationary.landscape_names`,
`stationary.plateaus`, `stationary.points` and `stationary.stability`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
