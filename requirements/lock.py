"""Write the lock: exact versions of everything that `make` installs, with hashes of all archives.

    make lock                      after a change of pyproject.toml; other versions stay
    make lock OPTIONS=--upgrade    the newest versions that pyproject.toml allows

uv reads the hashes from the package index, for all platforms and all Pythons.  Each file has the
packages that a target of `make` adds to the files in brackets below.  `make` installs them with
`pip install --require-hashes --no-deps`, and then this package without its dependencies.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent
PYPROJECT = FOLDER.parent / "pyproject.toml"
# File: its extra, and the files that are installed before it.
FILES: dict[str, tuple[str, list[str]]] = {
    "base": ("digits", []),
    "explore": ("explore", ["base"]),
    "test": ("test", ["base"]),
    "dev": ("dev", ["base", "test"]),
    "bench": ("bench", ["base", "test"]),
    "docs": ("docs", ["base"]),
}
# The build backend needs it for `pip install -e`.
EDITABLE = "editables"
HEADER = "# Written by `make lock`: exact versions, and the hashes of their archives.\n"


def compiled(*options: object) -> str:
    """Return the requirements that uv resolves for all platforms."""
    command = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11",
               "--no-annotate", "--no-header", *map(str, options)]  # fmt: skip
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def blocks(text: str) -> list[tuple[str, str]]:
    """Return the name of each requirement, and the requirement with its hashes."""
    found = re.findall(r"^([\w.-]+)(==.*(?:\n {4}.*)*\n)", text, re.M)
    return [(name, name + rest) for name, rest in found]


def names(text: str) -> set[str]:
    return set(re.findall(r"^[\w.-]+(?===)", text, re.M))


def main(options: list[str]) -> None:
    build = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["build-system"]["requires"]
    with tempfile.TemporaryDirectory() as folder:
        backend, lock = Path(folder) / "build.in", Path(folder) / "lock.txt"
        backend.write_text("\n".join([*build, EDITABLE]), encoding="utf-8")
        # uv prefers the versions in the file that it is asked to write.
        present = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))]
        lock.write_text("".join(dict.fromkeys(block for _, block in blocks("".join(present)))))
        inputs = (PYPROJECT, backend)
        compiled(*inputs, "--all-extras", "--generate-hashes", "-o", lock, *options)
        every = blocks(lock.read_text(encoding="utf-8"))
        contents: dict[str, set[str]] = {}
        for file, (extra, before) in FILES.items():
            needed = names(compiled(*inputs, "--extra", extra, "-c", lock))
            contents[file] = needed - {name for other in before for name in contents[other]}
            text = "".join(block for name, block in every if name in contents[file])
            (FOLDER / f"{file}.txt").write_text(HEADER + text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
