"""Site-symmetric states: free energy, branches, transitions, phase diagrams."""
