"""Oracles: plain, slow statements of what results must be."""
