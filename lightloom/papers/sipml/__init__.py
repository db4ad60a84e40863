"""Figures and tables of the SiP-ML paper."""
