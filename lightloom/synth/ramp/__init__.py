"""Collectives on RAMP, with closed forms for partners, steps and transceivers."""
