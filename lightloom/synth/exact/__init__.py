"""Fewest rounds by a solver, from the certified bound upward."""
