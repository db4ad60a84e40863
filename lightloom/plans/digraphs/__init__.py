"""Digraphs of small degree and diameter, on which algorithms work."""
