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
from .activations import GELU as GELU
from .activations import Activation as Activation
from .activations import Erf as Erf
from .activations import LeakyReLU as LeakyReLU
from .activations import Linear as Linear
from .activations import ReLU as ReLU
from .activations import Sigmoid as Sigmoid
from .activations import Softplus as Softplus
from .activations import Swish as Swish
from .activations import Tanh as Tanh
from .averages.generalization import generalization_error as generalization_error
from .model import Committee as Committee
from .model import Overlaps as Overlaps
from .model import Scenario as Scenario

__all__: list[str]
__version__: str
