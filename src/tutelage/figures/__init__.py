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

from tutelage.figures.accuracy import accuracy
from tutelage.figures.deep import (
    best_correlations,
    boundaries,
    evaluation_loss,
    followers,
    recovery,
    specialization,
    specialization_of_layers,
)
from tutelage.figures.deep_film import boundary_animation
from tutelage.figures.equilibrium import (
    equilibrium_curves,
    equilibrium_error,
    order_parameters,
    phase_diagram,
)
from tutelage.figures.equilibrium_sampling import hysteresis
from tutelage.figures.gates import critical_load, gate_activations, sampled_gates
from tutelage.figures.online import branch, error, learning_curves, overlaps
from tutelage.figures.simulation import (
    comparison,
    escapes,
    finite_size,
    simulated_curves,
    simulated_error,
    simulated_overlaps,
)
from tutelage.figures.spectra import (
    eigenvalue_ridges,
    index_against_loss,
    spectral_density,
    training,
    zeros_against_tolerance,
)
from tutelage.figures.spectra_film import eigenvalue_animation

__all__ = [
    "accuracy",
    "best_correlations",
    "boundaries",
    "boundary_animation",
    "branch",
    "comparison",
    "critical_load",
    "eigenvalue_animation",
    "eigenvalue_ridges",
    "equilibrium_curves",
    "equilibrium_error",
    "error",
    "escapes",
    "evaluation_loss",
    "finite_size",
    "followers",
    "gate_activations",
    "hysteresis",
    "index_against_loss",
    "learning_curves",
    "order_parameters",
    "overlaps",
    "phase_diagram",
    "recovery",
    "sampled_gates",
    "simulated_curves",
    "simulated_error",
    "simulated_overlaps",
    "specialization",
    "specialization_of_layers",
    "spectral_density",
    "training",
    "zeros_against_tolerance",
]
