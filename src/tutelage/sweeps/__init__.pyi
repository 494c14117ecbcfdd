from .keeping import last as last
from .points import zipped as zipped
from .study import load as load, run as run
