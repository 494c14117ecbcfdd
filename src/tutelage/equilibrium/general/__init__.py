"""States without site symmetry: every minimum of the free energy over all overlaps."""
