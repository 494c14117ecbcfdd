from .alignment import alignment as alignment
from .critical import disguise as disguise, interpolation as interpolation
from .gradients import (
    backpropagated_gradients as backpropagated_gradients,
    mixtures as mixtures,
    pieces as pieces,
    recursion_error as recursion_error,
    recursive_gradients as recursive_gradients,
)
from .growth import descent as descent, growth as growth, symmetric_flow as symmetric_flow
from .noisy import noisy_recovery as noisy_recovery
from .push import escape_time as escape_time, mean_push as mean_push
