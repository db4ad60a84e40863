"""Figures of the LUMORPH paper."""
