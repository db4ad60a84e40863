"""Figures and tables of the RAMP paper."""
