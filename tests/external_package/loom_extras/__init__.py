"""A package that is no part of lightloom: a fabric, an algorithm and a solver."""
