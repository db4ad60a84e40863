"""Schedules on 2D rings: circuits along rows and columns."""
