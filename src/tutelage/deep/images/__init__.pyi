from .cifar import Images as Images, cifar10 as cifar10
from .convnet import convnet as convnet
from .measures import channel_correlations as channel_correlations
from .pruning import channel_strengths as channel_strengths, prune_channels as prune_channels
from .record import train_on_images as train_on_images
from .training import Recipe as Recipe
