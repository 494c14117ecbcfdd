"""On-line learning: equations -> trajectory -> fixed points.

`evolve` integrates the order-parameter equations for any scenario and learning rate,
`fixed_point` finds a state that does not move, with its eigenvalues and directions.
"""

from tutelage.online.equations import Flow
from tutelage.online.fixed_points import FixedPoint, fixed_point
from tutelage.online.trajectory import evolve

__all__ = ["FixedPoint", "Flow", "evolve", "fixed_point"]
