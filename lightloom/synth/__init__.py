"""Algorithms that make schedules."""
