"""Frozen records that cross rooms; this room imports no other."""
