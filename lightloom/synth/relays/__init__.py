"""Demands whose bytes may take two circuits, on any fabric with circuits."""
