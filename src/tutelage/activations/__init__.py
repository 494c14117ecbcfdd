"""Activations: what a unit does with its field.

Each knows its value, its derivatives (with kinks as delta functions in g''), its parity, its
normalised Hermite coefficients at any variance, and which averages of it are known exactly.
They are frozen equinox modules: values that can be compared, passed through ``jit`` and
differentiated with respect to their parameters.

Other packages may use the module `units`, the table of named activations.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
