"""Learning at a finite temperature: quenched and annealed free energies of K → ∞ units."""
