"""Sizes for people are told in the unit in which they were given."""

from __future__ import annotations

import pytest

from lightloom.core.units import format_bytes
from lightloom.instances.catalogue import parse_size


@pytest.mark.parametrize(
    "size", ["0 B", "1 B", "1 kB", "1500 B", "64 KiB", "16 MB", "16 MiB", "3 GB"]
)
def test_a_size_comes_back_as_it_was_given(size: str) -> None:
    """16 MB are not 15625 KiB."""
    assert format_bytes(parse_size(size.replace(" ", ""), "--size")) == size
