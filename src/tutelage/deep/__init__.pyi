from . import images as images
from .measures import (
    correlations as correlations,
    focus_shifts as focus_shifts,
    mean_correlation as mean_correlation,
    recovery_rate as recovery_rate,
)
from .network import Network as Network, network as network
from .training.construction import student as student, teacher as teacher
from .training.pruning import prune as prune
from .training.record import networks as networks
from .training.training import train as train
