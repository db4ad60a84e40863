"""Several configurations for a demand: how long each lasts, and who has how much.

Durations and counts know pairs, lines and capacities, never a fabric: a line is what
limits some pairs together in every configuration, for example all that a node sends.
Routes and wavelengths come after.
"""
