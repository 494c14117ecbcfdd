from .points import zipped as zipped
from .selection import last as last
from .study import load as load, run as run
