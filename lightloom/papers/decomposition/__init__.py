"""Demands on parallel optical switches in configurations that take turns."""
