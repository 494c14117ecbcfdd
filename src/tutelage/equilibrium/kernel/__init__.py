"""The kernel κ(ρ): what an activation contributes to the free energy."""
