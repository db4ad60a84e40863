"""Conformance: whether somebody's synthesiser keeps what a synthesiser promises."""
