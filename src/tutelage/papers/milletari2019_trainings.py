"""The networks of milletari2019, Section 3 and Appendix B, trained once for rows and figures.

The paper leaves open how weights and β begin and how long the networks learn.  Here weights begin
uniform (Glorot), biases at 0, and every unit of a Swish network has a trainable β that begins at
1; Adam has the learning rate 0.01 of the paper.  The data are drawn with the sizes and the
geometry of the paper's.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import xarray as xr

from tutelage import spectra
from tutelage.activations import ReLU, Sigmoid, Swish

UNITS: Mapping[str, Any] = {
    "Swish": (Swish(), "per unit"),
    "ReLU": (ReLU(), "fixed"),
    "Sigmoid": (Sigmoid(), "fixed"),
}
DATA: Mapping[str, Any] = {
    "linear": spectra.linear_examples,
    "curved": spectra.curved_examples,
    "digits": spectra.digits,
}


@cache
def trained(
    data: str,
    hidden: tuple[int, ...],
    unit: str,
    epochs: int,
    runs: int,
    at: tuple[int, ...] | None = None,
    spectra_at: tuple[int, ...] | None = None,
) -> xr.Dataset:
    """Networks with this hidden layer, or these, on one of the three sets of examples."""
    examples = DATA[data]()
    activation, beta = UNITS[unit]
    network = spectra.Classifier(examples.sizes(*hidden), activation, beta)
    return spectra.train(network, examples, epochs, runs, at=at, spectra_at=spectra_at)
