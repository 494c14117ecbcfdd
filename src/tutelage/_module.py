"""The base class of scenarios, flows and rates: an equinox module with plain methods."""

import equinox as eqx


class Module(eqx.Module):
    """An equinox module whose attributes are read at the speed of Python.

    equinox turns each bound method into a pytree, and for that examines every attribute that is
    read: 800 of them in one call of `tutelage.online.evolve`, 0.8 ms.  Methods of this class are
    those of Python.
    """

    __getattribute__ = object.__getattribute__
