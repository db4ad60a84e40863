"""Executes a schedule in time; ignores what the file claims."""
