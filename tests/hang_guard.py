"""The one limit of time in tests: what takes longer hangs, on any machine."""

HUNG_S = 1800
"""Seconds. A test that waits for a process gives up after this, so that a suite ends
though a process hangs; no test that works comes near it on a machine that is busy."""
