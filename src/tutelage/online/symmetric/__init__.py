"""On-line learning of permutation-symmetric committees, at a cost that does not grow with K."""
