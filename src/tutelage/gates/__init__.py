"""Gates: activations from partition functions (``milletari2019``).

A unit lets its field h pass through a gate that is in one of several states s.  `Gate` has a set
of states with weights, `Interval` all numbers between two ends.  Everything follows from

    Z(β, h) = Σ_s w_s exp(β s h):    ⟨s⟩ = β⁻¹ ∂_h log Z,    ⟨j⟩ = ∂_β log Z = h ⟨s⟩,

by automatic differentiation.  ``gate.expectation(beta)`` and ``gate.signal(beta)`` are activations
for any `Committee`; `curves` tabulates them, `thermodynamics` and `layer` give free energy and
entropy, `backpropagation_factor` the factor of eq. (7).  `sample_network` compares networks with
drawn gates with the mean-field pass, `specialization_loads` computes the loads at which noisy units
specialize, and `cross_entropy`, `label_probability`, `count_probabilities` and `saddle_point` are
Appendix A.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
