"""Tests of plans: rounds before any circuits."""
