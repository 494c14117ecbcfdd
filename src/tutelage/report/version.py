"""Which code has computed a result: a result of other code is computed again."""

import hashlib
import json
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import tutelage
from tutelage.papers import Entry

LIBRARIES = (
    *("jax", "jaxlib", "equinox", "optax"),
    *("numpy", "scipy", "xarray", "matplotlib", "pillow"),
)
# How results are asked for and shown has no influence on them.
SHOWING = ("cli", "report")


@cache
def versions() -> dict[str, str]:
    """Of everything that results may depend on."""
    return {
        "tutelage": tutelage.__version__,
        "code": _digest_of_the_code(),
        "python": platform.python_version(),
        **{library: version(library) for library in LIBRARIES},
    }


def key(entry: Entry, full: bool) -> str:
    """The name of a result: whose it is, how large, from which data and computed by which code."""
    section = entry.section
    size = bool(full and section.full)
    identity = [entry.paper, section.name, size, section.outside(), versions()]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]


def _digest_of_the_code() -> str:
    folder = Path(tutelage.__file__).parent
    content = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        if path.relative_to(folder).parts[0] not in SHOWING:
            content.update(path.relative_to(folder).as_posix().encode())
            content.update(path.read_bytes())
    return content.hexdigest()[:16]
