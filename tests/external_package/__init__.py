"""A package outside lightloom, and what finds it."""
