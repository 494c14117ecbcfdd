"""Spectra: Hessians of networks that learn to classify, small ones whole, large ones in part.

`linear_examples`, `curved_examples` and `digits` are sets of examples, `load_examples` reads files
and `examples` checks arrays.  A `Classifier` says what the network is, and `train` lets many of
them learn at once and records loss, residuals and all eigenvalues of the exact Hessian;
`negative_fraction` and `zero_fraction` are the indices α and γ of a spectrum, with a tolerance.
For any loss over any tree of parameters there are `hessian_eigenvalues` (dense), and, on products
with the Hessian alone, `extreme_eigenvalues` and `density`, with `spectral_mean`.  `recompute`
repeats a training from what its Dataset holds.
"""

from typing import TYPE_CHECKING

from tutelage._lazy import lazy

_HOME = {
    "Adam": "optimizers",
    "Classifier": "classifier",
    "Examples": "examples",
    "SGD": "optimizers",
    "curved_examples": "generators",
    "density": "density",
    "digits": "generators",
    "examples": "examples",
    "extreme_eigenvalues": "extremes",
    "hessian": "hessian",
    "hessian_eigenvalues": "hessian",
    "linear_examples": "generators",
    "load_examples": "files",
    "negative_fraction": "indices",
    "recompute": "again",
    "spectral_mean": "density",
    "train": "training",
    "zero_fraction": "indices",
}

__getattr__, __dir__ = lazy(__name__, _HOME)

__all__ = [
    "SGD",
    "Adam",
    "Classifier",
    "Examples",
    "curved_examples",
    "density",
    "digits",
    "examples",
    "extreme_eigenvalues",
    "hessian",
    "hessian_eigenvalues",
    "linear_examples",
    "load_examples",
    "negative_fraction",
    "recompute",
    "spectral_mean",
    "train",
    "zero_fraction",
]


if TYPE_CHECKING:
    from tutelage.spectra.again import recompute
    from tutelage.spectra.classifier import Classifier
    from tutelage.spectra.density import density, spectral_mean
    from tutelage.spectra.examples import Examples, examples
    from tutelage.spectra.extremes import extreme_eigenvalues
    from tutelage.spectra.files import load_examples
    from tutelage.spectra.generators import curved_examples, digits, linear_examples
    from tutelage.spectra.hessian import hessian, hessian_eigenvalues
    from tutelage.spectra.indices import negative_fraction, zero_fraction
    from tutelage.spectra.optimizers import SGD, Adam
    from tutelage.spectra.training import train
