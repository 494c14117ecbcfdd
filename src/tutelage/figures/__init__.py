"""Figures: a Dataset in, Matplotlib Axes out.

- `overlaps`, `error`, `learning_curves`, `animation`: runs: theory or simulation
- `comparison`, `prediction`: theory against simulations, and against a training of the user
- `branch`, `escapes`, `finite_size`: fixed points over η; escapes from a plateau; finite N
- `landscape`, `curvatures`, `all_branches`, `opening`: minima and what connects them
- `control`, `optimizer_map`: optimal schedules; steps that optimizers need
- `order_parameters`, `equilibrium_curves`: equilibrium over the load
- `temperature_curves`, `temperature_states`, `temperature_diagram`: equilibrium at a temperature
- `phase_diagram`, `hysteresis`: the state of lowest free energy; sampled weights
- `gate_activations`, `sampled_gates`, `critical_load`: noisy gates and networks of them
- `training`, `index_against_loss`, `index_against_tolerance`: spectra of Hessians
- `eigenvalue_ridges`, `eigenvalue_animation`, `spectral_density`: densities of eigenvalues
- `specialization`, `best_correlations`, `recovery`: students of finite width
- `sweep`: studies over one, two or three swept arguments

``style("paper")`` draws for one column of a journal; `caption` returns what a figure shows in
sentences.  Every function takes Axes as its second argument, or ``figsize`` if it has several
panels, and returns the Axes.  Nothing here computes more than a mean over runs.

Other packages may use the modules `axes`, `style`, `text` and `eigenvalue_frames`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
