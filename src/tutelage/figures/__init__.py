"""Figures: numbers in, matplotlib Axes out.

`overlaps` and `error` draw a run of on-line learning, `learning_curves` both side by side, and
`branch` fixed points against the learning rate; `simulated_overlaps`, `simulated_error` and
`simulated_curves` lay simulations over them, `comparison` draws what `simulation.compare` has
found, `escapes` when runs leave their plateau, `finite_size` how they approach the theory;
`order_parameters`, `equilibrium_error` and `equilibrium_curves` draw equilibrium states over the
load, `phase_diagram` which of them wins, `hysteresis` sampled weights on the way up and down;
`gate_activations` draws what noisy gates do, `sampled_gates` how well the mean field describes
them, `critical_load` where networks of them specialize;
`training`, `index_against_loss`, `zeros_against_tolerance`, `eigenvalue_ridges` and
`eigenvalue_animation` draw networks that learn and the spectra of their Hessians, and
`spectral_density` that of a large one;
`specialization`, `specialization_of_layers`, `recovery`, `followers`, `best_correlations` and
`evaluation_loss` draw students of finite width and whom they follow, `boundaries` and
`boundary_animation` those in the plane;
`accuracy` draws the errors of several methods against one parameter.  Nothing here computes;
every function takes an optional Axes and returns the Axes it drew on.
"""

from tutelage._lazy import names_of

__getattr__, __dir__, __all__ = names_of(__name__, __file__)
