"""Routing problem: paths whose most loaded edge carries least, with a proof of it."""
