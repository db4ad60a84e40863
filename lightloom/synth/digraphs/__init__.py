"""Digraphs of few arcs a rank that lead everywhere in few, on which algorithms work."""
