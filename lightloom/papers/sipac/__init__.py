"""Figures of the SiPAC paper."""
