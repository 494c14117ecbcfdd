"""Convolutional students of a pruned teacher on CIFAR-10 (``tian2020``, Figure 8).

`cifar10` reads the images of the public archive, `Images` holds those of a user.
`train_on_images` pre-trains a `convnet`, prunes it and teaches students, each by a `Recipe`;
`channel_correlations`, `channel_strengths` and `prune_channels` are its parts.

Other packages may use the modules `cifar` and `study`.
"""

from tutelage._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
