"""Who teaches, who learns: `Committee` and `Scenario`; `Overlaps`, the order parameters of both;
a state as a list of blocks and as a vector (`layout`); the table of the numbers of a scenario
(`numbers`); how a step uses the gradient of a batch (`optimizers`).

Other packages may use the modules `layout` and `numbers`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
