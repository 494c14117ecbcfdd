from . import activations as activations
from . import averages as averages
from . import deep as deep
from . import equilibrium as equilibrium
from . import figures as figures
from . import gates as gates
from . import online as online
from . import papers as papers
from . import results as results
from . import simulation as simulation
from . import spectra as spectra
from ._checks import InputError as InputError
from .activations import *  # noqa: F403
from .averages.generalization import generalization_error as generalization_error
from .model import Committee as Committee
from .model import Overlaps as Overlaps
from .model import Scenario as Scenario

__version__: str
