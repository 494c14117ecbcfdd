from . import optimizers as optimizers
from .overlaps import Overlaps as Overlaps
from .scenario import Committee as Committee, Scenario as Scenario
