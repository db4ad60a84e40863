"""Proofs: what a witness shows, one argument a file."""
