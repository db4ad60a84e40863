"""Iterations of trainings: who computes, who sends, who sums."""

from __future__ import annotations

import numpy as np
import pytest

from lightloom.core.training import Training
from lightloom.synth.demand_subsets import most_partners
from lightloom.training.iteration import pair_demand, traffic, training_iteration
from lightloom.training.node_layout import AlikeReplicas, layout
from lightloom.training.replica import place_replica
from lightloom.training.strategy import Strategy
from tests.examples.small_trainings import fabrics, training


@pytest.mark.parametrize(("k", "copies"), [(1, 1), (1, 3), (4, 1), (4, 2)])
def test_every_part_runs_forward_and_backward_in_every_replica(
    k: int, copies: int
) -> None:
    """Times are those of the cuts, on the devices of the placement."""
    replica = place_replica(training(), 4, k)
    nodes = [range(copy * k, (copy + 1) * k) for copy in range(copies)]
    iteration = training_iteration(replica, nodes, copies * k)
    parts = len(replica.device)
    assert len(iteration.operations) == 2 * parts * copies
    lasts = iteration.operations.duration_ps.reshape(copies, 2, parts)
    both = lasts.sum(axis=1)
    assert (both == np.array(replica.split.workload.duration_ps)).all()
    device = iteration.operations.device.reshape(copies, 2, parts)
    for copy in range(copies):
        assert (device[copy] == replica.device + copy * k).all()


@pytest.mark.parametrize(("k", "copies"), [(1, 3), (2, 2), (4, 1), (4, 2)])
def test_all_gradients_are_summed_over_all_copies(k: int, copies: int) -> None:
    """What rings carry is what the formula of a ring says, parameter by parameter."""
    replica = place_replica(training(), 4, k)
    nodes = [range(copy * k, (copy + 1) * k) for copy in range(copies)]
    iteration = training_iteration(replica, nodes, copies * k)
    table = iteration.collectives
    summed: dict[int, int] = {}
    for row, op in enumerate(table.op):
        if op == "all-reduce" and copies > 1:
            twins = table.devices[row].tolist()
            assert len({node % k for node in twins}) == 1
            assert len(twins) == copies
            place = twins[0] % k
            summed[place] = summed.get(place, 0) + int(table.bytes[row])
        elif copies > 1:
            assert op in ("reduce-scatter", "all-gather")
            assert len({node // k for node in table.devices[row].tolist()}) == 1
    gradients = sum(op.gradient_bytes for op in replica.split.graph.ops)
    if copies > 1:
        # A share is rounded up to the byte, once for each device of each operation.
        rounding = k * len(replica.split.graph.ops)
        assert gradients <= sum(summed.values()) <= gradients + rounding


def test_copies_on_a_grid_sum_in_stages() -> None:
    """Down both columns, along both rows, up again; each stage waits for the last."""
    replica = place_replica(training(), 4, 1)
    iteration = training_iteration(replica, [(0,), (1,), (2,), (3,)], 4, (2, 2))
    table, links = iteration.collectives, iteration.dependencies
    first = len(iteration.operations)
    pairs = set(zip(links.src.tolist(), links.dst.tolist(), strict=True))
    stages = ["reduce-scatter"] * 2 + ["all-reduce"] * 2 + ["all-gather"] * 2
    assert list(table.op) == stages * (len(table.op) // 6)
    for begin in range(0, len(table.op), 6):
        devices = [table.devices[begin + row].tolist() for row in range(6)]
        assert devices == [[0, 2], [1, 3], [0, 1], [2, 3], [0, 2], [1, 3]]
        whole = int(table.bytes[begin])
        halves = [whole, whole, *[-(-whole // 2)] * 2, whole, whole]
        assert table.bytes[begin : begin + 6].tolist() == halves
        for early in range(2):
            for late in range(2):
                for stage in (0, 2):
                    one = first + begin + stage + early
                    assert (one, first + begin + stage + 2 + late) in pairs


def test_backward_waits_for_forward_and_sums_for_backward() -> None:
    """A part's backward pass hears from its forward pass, its sum from that."""
    replica = place_replica(training(), 4, 2)
    iteration = training_iteration(replica, [(0, 1), (2, 3)], 4)
    parts, links = len(replica.device), iteration.dependencies
    pairs = set(zip(links.src.tolist(), links.dst.tolist(), strict=True))
    for copy in range(2):
        for part in range(parts):
            forward = 2 * copy * parts + part
            assert (forward, forward + parts) in pairs
    operations = len(iteration.operations)
    for src, dst in pairs:
        if src < operations <= dst:
            assert src // parts % 2 == 1


def test_calls_group_the_transfers_between_two_layers() -> None:
    """One number an edge, direction and replica; none for what stays on a device."""
    replica = place_replica(training(), 4, 4)
    iteration = training_iteration(replica, [(0, 1, 2, 3), (4, 5, 6, 7)], 8)
    moves = iteration.is_transfer
    assert moves.any()
    call = iteration.dependencies.call
    assert (call[~moves] == -1).all()
    assert (call[moves] >= 0).all()
    device = iteration.operations.device
    for number in np.unique(call[moves]).tolist():
        rows = np.flatnonzero(call == number)
        assert len(set((device[iteration.dependencies.src[rows]] // 4).tolist())) == 1


def test_traffic_is_what_transfers_and_rings_send() -> None:
    """Rows of a pair are added up; a node's partners are counted one way."""
    demand = pair_demand(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([5, 7, 11]))
    assert (demand.src, demand.dst, demand.bytes) == ((0, 1), (1, 0), (16, 7))
    assert most_partners(demand) == 1
    replica = place_replica(training(), 4, 1)
    iteration = training_iteration(replica, [(0,), (1,)], 2)
    gradients = sum(op.gradient_bytes for op in replica.split.graph.ops)
    assert traffic(iteration, AlikeReplicas(0, 2)).bytes == (gradients, gradients)
    many = traffic(iteration, AlikeReplicas(0, 1000)).bytes[0]
    assert 1.99 * gradients < many < 2 * gradients


def test_placed_replicas_keep_to_the_ports() -> None:
    """Seventeen devices with nine ports: four forward, four backward, a twin."""
    wide = Training(
        batch_size=1,
        gpu="v100",
        precision="fp16",
        optimiser="adam",
        model="transformer-350m",
    )
    replica = place_replica(wide, 1, 17, ports=9)
    tail, head = np.array([replica.split.workload.src, replica.split.workload.dst])
    hops = (replica.device[head] - replica.device[tail]) % 17
    assert hops.max() == 4


def test_layouts_keep_a_few_replicas_of_many() -> None:
    """Only where they fill the fabric, and as many as the fabric needs."""
    kept = {
        name: len(layout(fabric, Strategy(2, 16, 16)).nodes)
        for name, fabric in fabrics(32).items()
    }
    assert kept == {"ideal-switch": 2, "electrical-cluster": 8, "ocs": 2, "ring": 7}
    ring = fabrics(32)["ring"]
    part = layout(ring, Strategy(2, 4, 16), tuple(range(8)))
    assert part.is_whole
    assert part.nodes == ((0, 1), (4, 5), (6, 7), (2, 3))
