from .bridge import prediction as prediction
from .deep import (
    best_correlations as best_correlations,
    recovery as recovery,
    specialization as specialization,
)
from .equilibrium import (
    equilibrium_curves as equilibrium_curves,
    hysteresis as hysteresis,
    order_parameters as order_parameters,
    phase_diagram as phase_diagram,
)
from .film import eigenvalue_animation as eigenvalue_animation
from .gates import (
    critical_load as critical_load,
    gate_activations as gate_activations,
    sampled_gates as sampled_gates,
)
from .online import (
    branch as branch,
    comparison as comparison,
    error as error,
    learning_curves as learning_curves,
    overlaps as overlaps,
)
from .simulation import escapes as escapes, finite_size as finite_size
from .spectra import (
    eigenvalue_ridges as eigenvalue_ridges,
    index_against_loss as index_against_loss,
    index_against_tolerance as index_against_tolerance,
    spectral_density as spectral_density,
    training as training,
)
from .style import style as style
from .sweeps import sweep as sweep
from .temperature import temperature_curves as temperature_curves
from .text import caption as caption
