"""Tests of trainings on fabrics."""
