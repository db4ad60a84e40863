"""Bytes to core records and back; this room knows no fabric and no algorithm."""
