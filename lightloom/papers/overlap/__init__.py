"""Collectives on optical switches that change while others transmit."""
