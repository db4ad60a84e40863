"""Wavelengths of a ring (SiP-ML paper, A.1)."""
