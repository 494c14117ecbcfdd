"""Monte Carlo of weights: an independent check of the free energy."""
