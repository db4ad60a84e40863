"""Electrical clusters: links by hand, tables, times."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from lightloom.core.columns import column
from lightloom.core.errors import InputError
from lightloom.core.fabric import PacketFabric
from lightloom.core.schedule import Algorithm, Schedule, StepPart
from lightloom.core.task import Demand
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.packet_tiers import ElectricalCluster
from lightloom.replay import replay
from lightloom.replay.workload import Launch, SharedLinks, replay_iteration
from tests.examples.iterations import iteration
from tests.examples.small_schedules import fluid

CLUSTER = ElectricalCluster(nodes=18)
PRIVATE = ElectricalCluster(
    nodes=18, uplinks="node", bits_per_second_per_uplink=200_000_000_000
)


def _links(fabric: ElectricalCluster, src: int, dst: int) -> dict[str, int]:
    usage = fabric.link_usage(column([src]), column([dst]))
    rates = fabric.link_bits_per_s(usage.resource).tolist()
    assert usage.amount.tolist() == [1] * len(rates)
    names = map(fabric.resource_name, usage.resource.tolist())
    return dict(zip(names, rates, strict=True))


def test_links_within_and_between_servers() -> None:
    """Node 7 is the last of server 0, node 17 the last of server 2, cut short."""
    node = 2_400_000_000_000
    inside = {"egress of node 0": node, "ingress of node 7": node}
    assert _links(CLUSTER, 0, 7) == inside == _links(PRIVATE, 0, 7)
    ends = {"egress of node 7": node, "ingress of node 17": node}
    assert _links(CLUSTER, 7, 17) == ends | {
        "uplink out of server 0": 400_000_000_000,
        "uplink into server 2": 400_000_000_000,
    }
    assert _links(PRIVATE, 7, 17) == ends | {
        "uplink out of node 7": 200_000_000_000,
        "uplink into node 17": 200_000_000_000,
    }


def test_columns_are_rows_one_by_one() -> None:
    """All pairs at once load what each of them loads."""
    src, dst = np.divmod(np.arange(18 * 18), 18)
    usage = CLUSTER.link_usage(src, dst)
    for row in range(len(src)):
        alone = CLUSTER.link_usage(src[row : row + 1], dst[row : row + 1])
        together = usage.resource[usage.circuit == row]
        assert sorted(together.tolist()) == sorted(alone.resource.tolist())


@pytest.mark.parametrize(("uplinks", "lasts_us"), [("server", 320), ("node", 160)])
def test_who_shares_an_uplink(
    uplinks: Literal["server", "node"], lasts_us: int
) -> None:
    """Two nodes of a server send 8 MB to another server over 400 Gb/s."""
    fabric = ElectricalCluster(nodes=16, uplinks=uplinks, alpha_ps=0)
    rows = [(0, 8, 8_000_000), (1, 9, 8_000_000), (2, 3, 8_000_000)]
    schedule = Schedule(
        fabric.table(),
        Demand.from_rows(rows),
        Algorithm("by hand"),
        (),
        (StepPart(0, None, None, fluid(rows)),),
    )
    assert replay(schedule).completion_time_ps == lasts_us * 10**6
    ops = [(node, 0) for node in (0, 1, 2, 8, 9, 3)]
    links = [(row, 3 + row, size) for row, (_, _, size) in enumerate(rows)]
    timeline = replay_iteration(
        iteration(16, ops, links), SharedLinks(fabric), Launch(0, 0)
    )
    ends = timeline.transfers.end_ps.tolist()
    assert ends == [lasts_us * 10**6, lasts_us * 10**6, 26_666_667]


def test_tables_are_read_back() -> None:
    """Every key is written, defaults filled in, and gives the same fabric."""
    for fabric in (CLUSTER, PRIVATE):
        assert load_fabric(fabric.table()) == fabric
        assert isinstance(fabric, PacketFabric)
    with pytest.raises(InputError, match=r"fabric\.uplinks"):
        load_fabric({"kind": "electrical-cluster", "nodes": 8, "uplinks": "rack"})
