"""Fabrics, collectives and the catalogue of named instances."""
