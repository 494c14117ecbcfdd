"""Monte Carlo of weights: a check of the free energy that does not use it."""
