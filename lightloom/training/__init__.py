"""Trainings on a fabric: how to share a model out, and how long an iteration takes."""
