"""LIGHTPATH tiles whose lasers their peers do not divide: some blocks are relayed."""

from __future__ import annotations

import pytest

from lightloom.core.task import Collective
from lightloom.instances.catalogue import load_instance
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.synth.lightpath.uneven_lasers import uneven_network
from lightloom.synth.synthesise import synthesise


@pytest.mark.parametrize(
    ("name", "algorithm", "most_us", "gap_percent"),
    [
        ("scatter-4MiB", "one-relay", 17.34, 4.3),
        ("all-to-all-4MiB", "one-relay", 18.15, 9.2),
        ("broadcast-4MiB", "packed-trees", 26.11, 8.5),
    ],
)
def test_seven_peers_of_sixteen_lasers(
    name: str, algorithm: str, most_us: float, gap_percent: float
) -> None:
    """Within 9 % of the bound where two wavelengths for each peer leave 13 %."""
    found = synthesise(load_instance(f"lightpath-8/{name}"))
    assert found.incumbent is not None
    assert found.objective is not None
    assert found.bound is not None
    assert found.incumbent.schedule.algorithm.name == algorithm
    assert len(found.incumbent.schedule.segments) == 1
    assert found.objective <= 1e6 * most_us
    assert 100 * (found.objective - found.bound) <= gap_percent * found.bound


def _task(op: str, ranks: int) -> Collective:
    root = 0 if op == "broadcast" else None
    return Collective(op, tuple(range(ranks)), 1024 * ranks, None, root)


@pytest.mark.parametrize(
    ("op", "lit"),
    [("all-to-all", [3, 2, 3, 2, 2, 2, 2]), ("broadcast", [3, 2, 2, 2, 2, 2, 3])],
)
def test_lasers_are_spread_over_distances(op: str, lit: list[int]) -> None:
    """Two distances of seven get three of sixteen; 4 and 16 peers share evenly."""
    fabric = Lightpath(rows=2, cols=4)
    network = uneven_network(fabric, _task(op, 8))
    assert network is not None
    away = (network.pair % 8 - network.pair // 8) % 8
    rate = 8e12 / network.ps_per_byte[away.argsort(kind="stable")][::8]
    each = fabric.bits_per_second_per_wavelength
    assert [round(one / each) for one in rate.tolist()] == lit
    for ranks in (5, 17, 18):
        assert uneven_network(fabric, _task(op, ranks)) is None
