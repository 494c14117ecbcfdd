from .images.cifar10 import cifar10 as cifar10
from .images.convnet import convnet as convnet
from .images.measures import channel_correlations as channel_correlations
from .images.pruning import channel_strengths as channel_strengths
from .images.pruning import prune_channels as prune_channels
from .images.record import train_on_images as train_on_images
from .measures import (
    correlations as correlations,
)
from .measures import (
    focus_shifts as focus_shifts,
)
from .measures import (
    mean_correlation as mean_correlation,
)
from .measures import (
    recovery_rate as recovery_rate,
)
from .network import Network as Network
from .network import network as network
from .theorems.alignment import alignment as alignment
from .theorems.critical import disguise as disguise
from .theorems.critical import interpolation as interpolation
from .theorems.gradients import (
    backpropagated_gradients as backpropagated_gradients,
)
from .theorems.gradients import (
    mixtures as mixtures,
)
from .theorems.gradients import (
    pieces as pieces,
)
from .theorems.gradients import (
    recursion_error as recursion_error,
)
from .theorems.gradients import (
    recursive_gradients as recursive_gradients,
)
from .theorems.growth import descent as descent
from .theorems.growth import growth as growth
from .theorems.growth import symmetric_flow as symmetric_flow
from .theorems.noisy import noisy_recovery as noisy_recovery
from .theorems.push import escape_time as escape_time
from .theorems.push import mean_push as mean_push
from .training.construction import student as student
from .training.construction import teacher as teacher
from .training.finite_size import online_deviation as online_deviation
from .training.pruning import prune as prune
from .training.record import networks as networks
from .training.sweep import sweep as sweep
from .training.training import train as train
