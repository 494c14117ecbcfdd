"""The base class of scenarios, flows and rates: an equinox module with plain methods."""

from typing import Any

import equinox as eqx


class Module(eqx.Module):
    """An equinox module whose attributes are read at the speed of Python.

    equinox turns each bound method into a pytree, and for that examines every attribute that is
    read: 800 of them in one call of `tutelage.online.evolve`, 0.8 ms.  Methods of this class are
    those of Python.
    """

    __getattribute__ = object.__getattribute__

    def _set_fields(self, **fields: Any) -> None:
        """Set fields in a constructor, without equinox's checks of every assignment: 31 of them
        in one call of `tutelage.online.evolve`, with ten function calls each.
        """
        self.__dict__.update(fields)
