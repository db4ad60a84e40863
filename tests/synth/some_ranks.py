"""Algorithms that are not for any number of ranks and ports."""

from __future__ import annotations

SOME_RANKS = ("hub-relays", "overlapping-subspaces", "rail-trees", "section-sums")
"""They refuse what does not fit, and are tested where it does."""
