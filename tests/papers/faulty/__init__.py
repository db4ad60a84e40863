"""Figures that fail."""
