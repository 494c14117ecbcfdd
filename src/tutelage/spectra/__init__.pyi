from .classifier import Classifier as Classifier
from .density import density as density, spectral_mean as spectral_mean
from .examples import Examples as Examples, examples as examples
from .extremes import extreme_eigenvalues as extreme_eigenvalues
from .files import load_examples as load_examples
from .generators import (
    curved_examples as curved_examples,
    digits as digits,
    linear_examples as linear_examples,
)
from .hessian import hessian as hessian, hessian_eigenvalues as hessian_eigenvalues
from .indices import negative_fraction as negative_fraction, zero_fraction as zero_fraction
from .objective import SGD as SGD, Adam as Adam
from .training import train as train
