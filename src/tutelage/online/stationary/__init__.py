"""Stationary states: found, followed in the learning rate, and what a run does next to them."""
