"""Student and teacher (`Committee`, `Scenario`) and their order parameters (`Overlaps`).

A state as a list of blocks and as a vector is in `layout`, the table of the numbers of a scenario
in `numbers`, how a step uses the gradient of a batch in `optimizers`.

Other packages may use the modules `layout`, `numbers` and `timing`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
