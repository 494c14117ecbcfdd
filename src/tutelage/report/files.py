"""Files that are there as a whole or not at all, whenever the work is stopped."""

import os
from pathlib import Path


def replace(path: Path, text: str) -> Path:
    """Write a text file beside its place, then move it there."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
    return path
