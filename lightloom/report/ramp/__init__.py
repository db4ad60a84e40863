"""RAMP beside electrical networks: what they are built of, cost and consume."""
