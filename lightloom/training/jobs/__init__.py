"""Several trainings on one fabric: placed, replayed together, over time."""
