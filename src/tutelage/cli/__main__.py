"""``python -m tutelage.cli`` is the command ``tutelage``."""

from tutelage.cli import main

main()
