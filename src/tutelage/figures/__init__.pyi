from .accuracy import accuracy as accuracy
from .deep import (
    best_correlations as best_correlations,
)
from .deep import (
    boundaries as boundaries,
)
from .deep import (
    evaluation_loss as evaluation_loss,
)
from .deep import (
    followers as followers,
)
from .deep import (
    recovery as recovery,
)
from .deep import (
    specialization as specialization,
)
from .deep import (
    specialization_of_layers as specialization_of_layers,
)
from .deep_film import boundary_animation as boundary_animation
from .equilibrium import (
    equilibrium_curves as equilibrium_curves,
)
from .equilibrium import (
    equilibrium_error as equilibrium_error,
)
from .equilibrium import (
    order_parameters as order_parameters,
)
from .equilibrium import (
    phase_diagram as phase_diagram,
)
from .equilibrium_sampling import hysteresis as hysteresis
from .gates import (
    critical_load as critical_load,
)
from .gates import (
    gate_activations as gate_activations,
)
from .gates import (
    sampled_gates as sampled_gates,
)
from .online import (
    branch as branch,
)
from .online import (
    error as error,
)
from .online import (
    learning_curves as learning_curves,
)
from .online import (
    overlaps as overlaps,
)
from .simulation import (
    comparison as comparison,
)
from .simulation import (
    escapes as escapes,
)
from .simulation import (
    finite_size as finite_size,
)
from .simulation import (
    simulated_curves as simulated_curves,
)
from .simulation import (
    simulated_error as simulated_error,
)
from .simulation import (
    simulated_overlaps as simulated_overlaps,
)
from .spectra import (
    eigenvalue_ridges as eigenvalue_ridges,
)
from .spectra import (
    index_against_loss as index_against_loss,
)
from .spectra import (
    spectral_density as spectral_density,
)
from .spectra import (
    training as training,
)
from .spectra import (
    zeros_against_tolerance as zeros_against_tolerance,
)
from .spectra_film import eigenvalue_animation as eigenvalue_animation
