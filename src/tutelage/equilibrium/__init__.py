"""Equilibrium at any temperature: free energy → states → curves → transitions.

Students and teachers of K units with outputs scaled by 1/√K (``oostwal2019``).  `states` lists
every site-symmetric minimum at a load α with its stability against all overlaps; `learning_curve`
follows all branches through their folds; `transitions` computes the loads at which a specialized
state appears, is lowest and is the only one, `transition_kind` the kind of the transition from the
Hermite coefficients of an activation, and `phases` the state of lowest free energy at each load.
Without ``temperature=`` these functions are for the limit of high temperature. `minima` looks
beyond site symmetry; `sample` and `hysteresis` draw weights from the Gibbs density.

Other packages may use the modules `general.blocks`, `sampling.sample` and `sampling.spheres`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
