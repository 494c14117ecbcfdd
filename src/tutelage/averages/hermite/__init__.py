"""Averages of every unit by the Kibble-Slepian series, with a bound on the error."""
