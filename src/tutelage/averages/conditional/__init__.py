"""Averages of every unit by conditioning: two fields by quadrature, others by Mehler's formula."""
