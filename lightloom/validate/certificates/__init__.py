"""Certificates: what a bound claims, and the arithmetic that proves it."""
