"""Schedules to programs of GPUs, and programs to schedules."""
