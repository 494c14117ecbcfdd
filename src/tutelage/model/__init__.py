"""Who teaches, who learns: `Committee` and `Scenario`; `Overlaps`, the order parameters of both,
and their one layout as a vector (`layout`).

Other packages may use the module `layout`.
"""

from tutelage.model.overlaps import Overlaps
from tutelage.model.scenario import Committee, Scenario

__all__ = ["Committee", "Overlaps", "Scenario"]
