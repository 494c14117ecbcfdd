"""A user's own network: its order parameters, and whether the theory describes its training.

`describe` reads weight matrices, PyTorch modules and state dicts, Flax, Equinox and Keras models,
each by one file of `frameworks`, into one plain description: layers of weights (out, in), biases,
and the functions between them.  Everything else works on that description.  `overlaps` and
`scenario` are the state and the problem that the theory knows; a `Recorder` records the overlaps of
a training while it runs, and `predict` compares the training with the equations from the same
start. Of deeper networks, `correlations` measures which node follows which, and `hessian` passes
the loss to `tutelage.spectra`.

No framework is imported here before one of its objects has been handed in.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
