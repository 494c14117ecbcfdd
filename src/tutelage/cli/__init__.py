"""The command ``tutelage``, whose subcommands `entry` brings together.

Every subcommand shows an example in its ``--help``, prints JSON for programs with
``--json``, and is silent but for its result when it does not run on a terminal.
Whatever computes is imported inside the function that needs it, so that ``--help``
answers at once.
"""

import sys

from tutelage.cli.encoding import make_encodable
from tutelage.cli.interrupts import DeferredSignals, interrupted, is_interrupt

__all__ = ["main"]


def main() -> None:
    """Run the command; handle Ctrl-C also while libraries are imported."""
    make_encodable(sys.stdout)
    make_encodable(sys.stderr)
    with DeferredSignals():
        try:
            from tutelage.cli.entry import main as run

            run()
        except (KeyboardInterrupt, Exception) as problem:
            if not is_interrupt(problem):
                raise
            print("tutelage: interrupted before any work began", file=sys.stderr)
            sys.exit(interrupted())
