"""On-line learning of committees whose units are all alike, at a cost that does not grow with K."""
