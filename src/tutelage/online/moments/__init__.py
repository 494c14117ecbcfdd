"""The averages that the order-parameter equations need, and the ways to compute them.

To add a way: a file with a `Moments` here, and its name in `tutelage.online.flow.WAYS`.
"""
