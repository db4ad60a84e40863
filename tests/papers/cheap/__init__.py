"""Figures that cost nothing."""
