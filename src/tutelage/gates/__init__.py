"""Gates: activations from partition functions (``milletari2019``).

A unit lets its field h pass through a gate that is in one of several states s.  `Gate` has a set
of states with weights, `Interval` all numbers between two ends.  Everything follows from

    Z(β, h) = Σ_s w_s exp(β s h):    ⟨s⟩ = β⁻¹ ∂_h log Z,    ⟨j⟩ = ∂_β log Z = h ⟨s⟩,

by automatic differentiation.  ``gate.expectation(beta)`` and ``gate.signal(beta)`` are activations
for any `Committee`; `curves` tabulates them, `thermodynamics` and `layer` give free energy and
entropy, `backpropagation_factor` the factor of eq. (7).  `sample_network` draws the gates of whole
networks beside the mean-field pass, `specialization_loads` says where noisy units specialize, and
`cross_entropy`, `label_probability`, `count_probabilities` and `saddle_point` hold Appendix A.
"""

from typing import TYPE_CHECKING

from tutelage._lazy import lazy

_HOME = {
    "AbstractGate": "base",
    "Gate": "levels",
    "Interval": "interval",
    "Expectation": "derived",
    "Signal": "derived",
    "Bent": "slopes",
    "TwoSlopes": "slopes",
    "Thermodynamics": "thermal",
    "thermodynamics": "thermal",
    "layer": "thermal",
    "backpropagation_factor": "thermal",
    "curves": "tables",
    "specialization_loads": "tables",
    "mean_field": "stochastic",
    "sample_network": "stochastic",
    "cross_entropy": "labels",
    "label_probability": "labels",
    "count_probabilities": "labels",
    "SaddlePoint": "labels",
    "saddle_point": "labels",
    "activation_named": "names",
}

__getattr__, __dir__ = lazy(__name__, _HOME)

__all__ = [
    "AbstractGate",
    "Bent",
    "Expectation",
    "Gate",
    "Interval",
    "SaddlePoint",
    "Signal",
    "Thermodynamics",
    "TwoSlopes",
    "activation_named",
    "backpropagation_factor",
    "count_probabilities",
    "cross_entropy",
    "curves",
    "label_probability",
    "layer",
    "mean_field",
    "saddle_point",
    "sample_network",
    "specialization_loads",
    "thermodynamics",
]


if TYPE_CHECKING:
    from tutelage.gates.base import AbstractGate
    from tutelage.gates.derived import Expectation, Signal
    from tutelage.gates.interval import Interval
    from tutelage.gates.labels import (
        SaddlePoint,
        count_probabilities,
        cross_entropy,
        label_probability,
        saddle_point,
    )
    from tutelage.gates.levels import Gate
    from tutelage.gates.names import activation_named
    from tutelage.gates.slopes import Bent, TwoSlopes
    from tutelage.gates.stochastic import mean_field, sample_network
    from tutelage.gates.tables import curves, specialization_loads
    from tutelage.gates.thermal import (
        Thermodynamics,
        backpropagation_factor,
        layer,
        thermodynamics,
    )
