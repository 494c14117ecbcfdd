from .base import AbstractGate as AbstractGate
from .derived import Expectation as Expectation
from .derived import Signal as Signal
from .interval import Interval as Interval
from .labels import (
    SaddlePoint as SaddlePoint,
)
from .labels import (
    count_probabilities as count_probabilities,
)
from .labels import (
    cross_entropy as cross_entropy,
)
from .labels import (
    label_probability as label_probability,
)
from .labels import (
    saddle_point as saddle_point,
)
from .levels import Gate as Gate
from .slopes import Bent as Bent
from .slopes import TwoSlopes as TwoSlopes
from .stochastic import mean_field as mean_field
from .stochastic import sample_network as sample_network
from .tables import curves as curves
from .tables import specialization_loads as specialization_loads
from .thermal import (
    Thermodynamics as Thermodynamics,
)
from .thermal import (
    backpropagation_factor as backpropagation_factor,
)
from .thermal import (
    layer as layer,
)
from .thermal import (
    thermodynamics as thermodynamics,
)
