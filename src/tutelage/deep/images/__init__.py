"""Convolutional students of a pruned teacher on CIFAR-10."""
