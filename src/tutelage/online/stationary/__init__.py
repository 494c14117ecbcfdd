"""Stationary states: search, branches over the learning rate, stability, plateaus, minima."""
