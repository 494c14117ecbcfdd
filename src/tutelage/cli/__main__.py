"""Run ``python -m tutelage.cli`` as the command ``tutelage``."""

from tutelage.cli import main

main()
