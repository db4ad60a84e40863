"""Tests of algorithms for collectives."""
