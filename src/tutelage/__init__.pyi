from . import (
    activations as activations,
    averages as averages,
    bridge as bridge,
    deep as deep,
    equilibrium as equilibrium,
    explorer as explorer,
    figures as figures,
    gates as gates,
    online as online,
    papers as papers,
    results as results,
    simulation as simulation,
    spectra as spectra,
    sweeps as sweeps,
)
from ._checks import ComputationError as ComputationError, InputError as InputError
from .activations import *  # noqa: F403
from .averages.generalization import generalization_error as generalization_error
from .model import (
    Committee as Committee,
    Overlaps as Overlaps,
    Scenario as Scenario,
    optimizers as optimizers,
)

__version__: str
