"""Spectra of Hessians of classifiers: all eigenvalues, or ends and density of large ones.

`linear_examples`, `curved_examples` and `digits` are sets of examples, `load_examples` reads files
and `examples` checks arrays.  A `Classifier` describes the network, and `train` trains many of them
at once and records loss, residuals and all eigenvalues of the exact Hessian; `negative_fraction`
and `zero_fraction` are the indices α and γ of a spectrum, with a tolerance. For any loss over any
tree of parameters there are `hessian_eigenvalues` (dense), and, on products with the Hessian alone,
`extreme_eigenvalues` and `density`, with `spectral_mean`.

Other packages may use the modules `classifier` and `training`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
