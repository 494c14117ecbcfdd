from .base import Activation as Activation
from .base import Kink as Kink
from .base import Parity as Parity
from .custom import Custom as Custom
from .hermite import HermiteCoefficients as HermiteCoefficients
from .hermite import derivative_coefficients as derivative_coefficients
from .hermite import hermite_functions as hermite_functions
from .piecewise import LeakyReLU as LeakyReLU
from .piecewise import Linear as Linear
from .piecewise import PiecewiseLinear as PiecewiseLinear
from .piecewise import ReLU as ReLU
from .sigmoidal import Erf as Erf
from .sigmoidal import Sigmoid as Sigmoid
from .sigmoidal import Tanh as Tanh
from .smooth import GELU as GELU
from .smooth import Softplus as Softplus
from .smooth import Swish as Swish

__all__: list[str]
