"""Bruck all-to-all on shift rings."""
