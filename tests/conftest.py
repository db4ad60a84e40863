"""What all tests share: profile, signals, and the smallest fabrics and schedules."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from lightloom.core.task import Collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.packet_tiers import IdealSwitch
from lightloom.instances.instance import Instance
from tests.examples.small_schedules import all_gather_2x2

if TYPE_CHECKING:
    from lightloom.core.schedule import Schedule

settings.register_profile(
    "lightloom",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],  # a busy machine is no fault
)
settings.load_profile("lightloom")

FAST_SUITE = "not slow"
FEWER, FEWEST = 4, 8
"""The fast suite draws a quarter of the examples that a test asks for, 8 at least."""


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Draw fewer examples in the fast suite; the slow one runs these tests in full."""
    if config.option.markexpr != FAST_SUITE:
        return
    drawn = {getattr(item, "obj", None) for item in items}
    for function in {getattr(test, "__func__", test) for test in drawn}:
        if is_hypothesis_test(function):
            whole = function._hypothesis_internal_use_settings  # noqa: SLF001
            few = min(whole.max_examples, max(FEWEST, whole.max_examples // FEWER))
            function._hypothesis_internal_use_settings = settings(  # noqa: SLF001
                whole, max_examples=few
            )


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Scripts start what runs in the background so, and children would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def four_tiles() -> Lightpath:
    """Return a grid of two by two tiles."""
    return Lightpath(rows=2, cols=2)


@pytest.fixture
def four_nodes() -> IdealSwitch:
    """Return an ideal switch of four nodes."""
    return IdealSwitch(nodes=4)


@pytest.fixture
def four_node_instance(four_tiles: Lightpath) -> Instance:
    """Return an all-reduce of 4 KiB on four tiles."""
    return Instance(four_tiles, Collective("all-reduce", (0, 1, 2, 3), 4096), "four")


@pytest.fixture
def tiny_schedule() -> Schedule:
    """Return an all-gather on four tiles in two steps, made by hand, with footer."""
    return all_gather_2x2()
