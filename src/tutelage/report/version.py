"""Keys of stored results: they change with code, libraries and data, so that old results expire."""

import hashlib
import json
import platform
from functools import cache
from importlib.metadata import version

import tutelage
from tutelage.papers import Entry
from tutelage.runs.code import digest

LIBRARIES = (
    *("jax", "jaxlib", "equinox", "optax"),
    *("numpy", "scipy", "xarray", "matplotlib", "pillow"),
)


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results may depend on."""
    return {
        "tutelage": tutelage.__version__,
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def key(entry: Entry, full: bool) -> str:
    """Return the key of a result: a hash of paper, section, size, data, versions and code."""
    section = entry.section
    size = bool(full and section.full)
    identity = [
        *(entry.paper.key, section.name, size, section.outside()),
        *(versions(), digest(entry.module, section.name)),
    ]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]
