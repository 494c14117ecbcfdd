from .base import AbstractGate as AbstractGate
from .derived import Expectation as Expectation, Signal as Signal
from .interval import Interval as Interval
from .labels import (
    SaddlePoint as SaddlePoint,
    count_probabilities as count_probabilities,
    cross_entropy as cross_entropy,
    label_probability as label_probability,
    saddle_point as saddle_point,
)
from .levels import Gate as Gate
from .slopes import TwoSlopes as TwoSlopes
from .stochastic import mean_field as mean_field, sample_network as sample_network
from .tables import curves as curves, specialization_loads as specialization_loads
from .thermal import (
    Thermodynamics as Thermodynamics,
    backpropagation_factor as backpropagation_factor,
    layer as layer,
    thermodynamics as thermodynamics,
)
