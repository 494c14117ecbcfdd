"""What every long or random computation needs: seed, progress, checkpoint, provenance."""
