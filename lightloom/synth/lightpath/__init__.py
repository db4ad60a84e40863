"""Realisation of the rounds of an algorithm on the tiles of a LIGHTPATH rack."""
