"""Versions of the code that computes a study: results of different code are not mixed."""

from pathlib import Path

from tutelage.runs.code import SOURCES, digest, digest_of_package
from tutelage.runs.provenance import versions as recorded
from tutelage.runs.public_names import public_function

# Packages whose values are arguments, and which functions do not import.
VALUES = ("tutelage.activations",)


def versions(function: str, folder: Path = SOURCES) -> dict[str, str]:
    """Return the versions of tutelage (with digests of the code), JAX and Python.

    The code is that of the function, of the units that its arguments may have, and of the modules
    that make the arguments and store the results.

    function: public name of the function, such as ``online.evolve``.
    """
    call, packages = public_function(function, "function"), recorded()
    own = digest(call.__module__, call.__name__, folder, VALUES)
    around = digest("tutelage.sweeps.compute", "computed", folder)
    return {
        "tutelage": f"{packages['tutelage_version']} ({own[:8]}-{around[:8]})",
        "jax": packages["jax_version"],
        "python": packages["python_version"],
    }


def versions_of_process() -> dict[str, str]:
    """Return the version of tutelage with a digest of all its source files.

    Processes of one environment compare it: the digests of `versions` take half a second.
    """
    return {"tutelage": f"{recorded()['tutelage_version']} ({digest_of_package()[:8]})"}
