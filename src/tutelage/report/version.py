"""Which code has computed a result: a result of other code is computed again."""

import hashlib
import json
import platform
from functools import cache
from importlib.metadata import version

import tutelage
from tutelage.papers import Entry
from tutelage.report.code import digest

LIBRARIES = (
    *("jax", "jaxlib", "equinox", "optax"),
    *("numpy", "scipy", "xarray", "matplotlib", "pillow"),
)


@cache
def versions() -> dict[str, str]:
    """Of everything that results may depend on, besides the code that a section uses."""
    return {
        "tutelage": tutelage.__version__,
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def key(entry: Entry, full: bool) -> str:
    """The name of a result: whose it is, how large, from which data and computed by which code."""
    section = entry.section
    size = bool(full and section.full)
    identity = [
        *(entry.paper.key, section.name, size, section.outside()),
        *(versions(), digest(entry.module, section.name)),
    ]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]
