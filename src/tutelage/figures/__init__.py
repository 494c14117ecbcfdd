"""Figures: a Dataset in, matplotlib Axes out.

`overlaps` and `error` draw on-line learning, in theory and in simulation, `learning_curves` both
side by side, `comparison` what `simulation.compare` has found; `branch` draws fixed points
against the learning rate, `escapes` when runs leave their plateau, `finite_size` how they
approach the theory; `order_parameters` and `equilibrium_curves` draw equilibrium states over the
load, `phase_diagram` which of them wins, `hysteresis` sampled weights on the way up and down;
`gate_activations` draws what noisy gates do, `sampled_gates` how well the mean field describes
them, `critical_load` where networks of them specialize;
`training`, `index_against_loss`, `index_against_tolerance`, `eigenvalue_ridges` and
`eigenvalue_animation` draw networks that learn and the spectra of their Hessians, and
`spectral_density` that of a large one; `specialization`, `best_correlations` and `recovery` draw
students of finite width and whom they follow; `sweep` draws studies over what was swept.
`style("paper")` draws everything for one column of a journal; `caption` returns what a picture
shows in sentences.  Nothing here computes more than a mean over runs; every function takes optional
Axes in the second place, or `figsize` if it has several panels, and returns the Axes it drew on.
Pictures of one paper's page stand beside that page.

Other packages may use the modules `axes`, `style`, `looks`, `text` and `film`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
