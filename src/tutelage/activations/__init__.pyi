from .base import Activation as Activation
from .piecewise import LeakyReLU as LeakyReLU, Linear as Linear, ReLU as ReLU
from .sigmoidal import Erf as Erf, Sigmoid as Sigmoid, Tanh as Tanh
from .smooth import GELU as GELU, Softplus as Softplus, Swish as Swish
