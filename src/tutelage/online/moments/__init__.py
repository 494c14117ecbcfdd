"""The averages that the order-parameter equations need, and the ways to compute them."""
