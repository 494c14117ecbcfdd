"""The averages that the order-parameter equations need, and the ways to compute them.

To add a method: a file with a subclass of `Moments` here, and the class in
`tutelage.online.flow.IMPLEMENTATIONS`.
"""
