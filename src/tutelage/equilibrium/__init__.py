"""Equilibrium at any temperature: free energy -> states -> curves -> transitions.

Students and teachers of K units with outputs scaled by 1/√K (``oostwal2019``).  `states` lists
every site-symmetric minimum at a load α with its stability against all overlaps;
`learning_curve` follows all branches through their folds; `transitions` says where a specialized
state appears, is lowest and is the only one, `transition_kind` what the Hermite coefficients of an
activation say about it, and `phases` which state is lowest at each load.
Without ``temperature=`` these functions are for the limit of high temperature.
`minima` looks beyond site symmetry; `sample` and `hysteresis` draw weights from the Gibbs density.

Other packages may use the modules `general.blocks`, `sampling.sample` and `sampling.spheres`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
