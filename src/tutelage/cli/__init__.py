"""The command ``tutelage``, whose subcommands `entry` brings together.

Every subcommand shows an example in its ``--help``, prints JSON for programs with
``--json``, and is silent but for its result when it does not run on a terminal.
Whatever computes is imported inside the function that needs it, so that ``--help``
answers at once.
"""

from tutelage.cli.entry import main

__all__ = ["main"]
