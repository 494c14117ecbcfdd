from .alignment import aligned as aligned
from .chain import chain as chain
from .comparison import compare as compare
from .escape import escape_times as escape_times
from .finite_size import finite_size as finite_size
from .network import network as network
from .starts import random_start as random_start
from .statistics import summary as summary
