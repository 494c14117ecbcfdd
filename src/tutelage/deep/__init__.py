"""Deep ReLU students of finite width that learn from a teacher of the same depth (``tian2020``).

`teacher` and `student` build networks, `train` trains many students at once and `sweep` those of
several widths; `correlations`, `recovery_rate`, `mean_correlation` and `focus_shifts` say who
follows whom, `networks` takes the trained networks out of a result.

The theorems as checks: `recursion_error` (Lemma 1), `pieces` (Corollary 1), `interpolation` and
`disguise` (Theorem 1), `alignment` and `prune` (Theorems 2 and 3), `noisy_recovery` (Theorem 5),
`mean_push` (Theorem 6), `descent`, `growth` and `symmetric_flow` (Theorem 7), `escape_time`.
`online_deviation` compares with the theory of infinitely many inputs.

Images: `cifar10` reads them, `train_on_images` pre-trains a `convnet`, prunes it and teaches
students; `channel_correlations`, `channel_strengths` and `prune_channels` are its parts.
"""

from typing import TYPE_CHECKING

from tutelage._lazy import lazy

_HOME = {
    "Network": "network",
    "network": "network",
    "teacher": "construction",
    "student": "construction",
    "train": "training",
    "sweep": "sweep",
    "networks": "record",
    "correlations": "measures",
    "recovery_rate": "measures",
    "mean_correlation": "measures",
    "focus_shifts": "measures",
    "mixtures": "gradients",
    "recursive_gradients": "gradients",
    "backpropagated_gradients": "gradients",
    "recursion_error": "gradients",
    "pieces": "gradients",
    "disguise": "critical",
    "interpolation": "critical",
    "alignment": "alignment",
    "prune": "pruning",
    "mean_push": "push",
    "escape_time": "push",
    "descent": "growth",
    "growth": "growth",
    "symmetric_flow": "growth",
    "noisy_recovery": "noisy",
    "online_deviation": "bridge",
    "cifar10": "images",
    "convnet": "convnet",
    "channel_correlations": "convnet_measures",
    "channel_strengths": "convnet_pruning",
    "prune_channels": "convnet_pruning",
    "train_on_images": "convnet_record",
}

__getattr__, __dir__ = lazy(__name__, _HOME)

__all__ = [
    "Network",
    "alignment",
    "backpropagated_gradients",
    "channel_correlations",
    "channel_strengths",
    "cifar10",
    "convnet",
    "correlations",
    "descent",
    "disguise",
    "escape_time",
    "focus_shifts",
    "growth",
    "interpolation",
    "mean_correlation",
    "mean_push",
    "mixtures",
    "network",
    "networks",
    "noisy_recovery",
    "online_deviation",
    "pieces",
    "prune",
    "prune_channels",
    "recovery_rate",
    "recursion_error",
    "recursive_gradients",
    "student",
    "sweep",
    "symmetric_flow",
    "teacher",
    "train",
    "train_on_images",
]


if TYPE_CHECKING:
    from tutelage.deep.alignment import alignment
    from tutelage.deep.bridge import online_deviation
    from tutelage.deep.construction import student, teacher
    from tutelage.deep.convnet import convnet
    from tutelage.deep.convnet_measures import channel_correlations
    from tutelage.deep.convnet_pruning import channel_strengths, prune_channels
    from tutelage.deep.convnet_record import train_on_images
    from tutelage.deep.critical import disguise, interpolation
    from tutelage.deep.gradients import (
        backpropagated_gradients,
        mixtures,
        pieces,
        recursion_error,
        recursive_gradients,
    )
    from tutelage.deep.growth import descent, growth, symmetric_flow
    from tutelage.deep.images import cifar10
    from tutelage.deep.measures import (
        correlations,
        focus_shifts,
        mean_correlation,
        recovery_rate,
    )
    from tutelage.deep.network import Network, network
    from tutelage.deep.noisy import noisy_recovery
    from tutelage.deep.pruning import prune
    from tutelage.deep.push import escape_time, mean_push
    from tutelage.deep.record import networks
    from tutelage.deep.sweep import sweep
    from tutelage.deep.training import train
