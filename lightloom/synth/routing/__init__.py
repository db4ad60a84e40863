"""Routes of light: minimum congestion, layers, and proofs of how good they are."""
