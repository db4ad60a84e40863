"""Instances, schedules and synthesisers that tests of several rooms use."""
