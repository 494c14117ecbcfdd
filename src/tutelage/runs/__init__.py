"""Tools of long and random computations: seed, progress, checkpoint, provenance."""
