"""Schedules on SiPAC made by hand: whole ones verify, times are those of arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from lightloom.replay import replay
from lightloom.validate import verify
from tests.validate.sipac import FAMILIES, multicast_broadcast, shuffled_demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule


@pytest.mark.parametrize("make", FAMILIES)
def test_whole_schedules_are_valid(make: Callable[[], Schedule]) -> None:
    """Each verifies, with and without footer."""
    assert verify(make()).violations == ()
    assert verify(replace(make(), footer=None)).valid


def test_a_pair_of_the_shuffle_has_its_share() -> None:
    """900 bytes on one of 2 x 2 wavelengths: alpha and 7200 bits at 512 Gb/s."""
    assert replay(shuffled_demand()).completion_time_ps == 700_000 + 14_063


def test_multicast_is_sent_once_at_the_rate_of_its_wavelengths() -> None:
    """4096 bytes on two of 2 x 2 wavelengths, to two nodes as fast as to one."""
    assert replay(multicast_broadcast()).completion_time_ps == 700_000 + 32_000
