"""The kernel κ(ρ) of an activation, on which the free energy depends."""
