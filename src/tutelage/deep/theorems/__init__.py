"""The lemmas and theorems of ``tian2020`` as checks."""
