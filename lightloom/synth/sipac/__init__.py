"""Schedules for SiPAC: which algorithms fit its levels, and on which wavelengths."""
