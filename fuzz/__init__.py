"""Fuzzing of every reader: damaged files are refused, never worse.

``python -m fuzz.run --minutes 10`` runs a driver of our own, ``python -m fuzz.coverage
TARGET`` one that is guided by coverage and needs the package atheris.
"""
