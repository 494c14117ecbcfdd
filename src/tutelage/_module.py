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


class PlainType(type(eqx.Module)):  # type: ignore[misc]
    """The type of `PlainModule`: an instance is created as in Python."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        instance: Any = object.__new__(cls)
        instance.__init__(*args, **options)
        return instance


class PlainModule(Module, metaclass=PlainType):
    """A module whose constructor sets all of its fields by `_set_fields`.

    equinox examines each new module, which takes 0.06 ms in one call of `tutelage.online.evolve`
    for seven modules, and checks each assignment by ten function calls.
    """

    def _set_fields(self, **fields: Any) -> None:
        """Set fields, in the constructor."""
        self.__dict__.update(fields)
