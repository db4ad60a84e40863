"""Circuits of parallel optical switches (SiP-ML paper, A.2)."""
