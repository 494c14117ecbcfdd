from .branches import branch as branch
from .bridge import prediction as prediction
from .control import control as control, optimizer_map as optimizer_map
from .deep import (
    best_correlations as best_correlations,
    recovery as recovery,
    specialization as specialization,
)
from .deviations import comparison as comparison
from .eigenvalue_frames import eigenvalue_animation as eigenvalue_animation
from .eigenvalues import (
    eigenvalue_ridges as eigenvalue_ridges,
    spectral_density as spectral_density,
)
from .equilibrium import (
    equilibrium_curves as equilibrium_curves,
    order_parameters as order_parameters,
)
from .error_curves import error as error
from .gates import (
    critical_load as critical_load,
    gate_activations as gate_activations,
    sampled_gates as sampled_gates,
)
from .minima import (
    all_branches as all_branches,
    curvatures as curvatures,
    landscape as landscape,
    opening as opening,
)
from .overlap_curves import overlaps as overlaps
from .panels import learning_curves as learning_curves
from .phases import phase_diagram as phase_diagram
from .run_animation import animation as animation
from .sampling import hysteresis as hysteresis
from .simulation import escapes as escapes, finite_size as finite_size
from .spectra import (
    index_against_loss as index_against_loss,
    index_against_tolerance as index_against_tolerance,
    training as training,
)
from .style import style as style
from .sweeps import sweep as sweep
from .temperature import (
    temperature_curves as temperature_curves,
    temperature_diagram as temperature_diagram,
    temperature_states as temperature_states,
)
from .text import caption as caption
