"""Hypothesis without deadlines: how fast a machine is decides no test."""

from hypothesis import settings

settings.register_profile("lightloom", deadline=None)
settings.load_profile("lightloom")
