"""Versions and digest of the code: results of different code are not mixed."""

import hashlib
from functools import cache
from pathlib import Path

import tutelage
from tutelage.runs.provenance import versions as recorded

PACKAGE = Path(tutelage.__file__).parent
# Packages that compute nothing that a sweep could store.
WITHOUT_RESULTS = ("figures", "papers", "report", "explorer", "cli")


@cache
def versions() -> dict[str, str]:
    """Return the versions of tutelage (with a digest of its source), JAX and Python."""
    found = recorded()
    return {
        "tutelage": f"{found['tutelage_version']} ({digest()})",
        "jax": found["jax_version"],
        "python": found["python_version"],
    }


@cache
def digest(folder: Path = PACKAGE) -> str:
    """Return the first letters of the SHA-256 of all sources that results may depend on."""
    every = hashlib.sha256()
    sources = (
        path
        for path in folder.rglob("*.py")
        if path.relative_to(folder).parts[0] not in WITHOUT_RESULTS
    )
    for path in sorted(sources):
        every.update(str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes())
    return every.hexdigest()[:12]
