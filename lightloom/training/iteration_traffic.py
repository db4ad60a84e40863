"""The bytes that each pair of nodes exchanges in an iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Demand

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.iteration import Iteration
    from lightloom.replay.workload.collective_flows import CollectiveModel


def traffic(iteration: Iteration, collectives: CollectiveModel) -> Demand:
    """Return what goes from each node to each other one in an iteration.

    The traffic matrix of SiP-ML's Fig. 7: transfers, and what collectives send.
    """
    links, device = iteration.dependencies, iteration.operations.device
    rows = np.flatnonzero(iteration.is_transfer)
    src, dst = [device[links.src[rows]]], [device[links.dst[rows]]]
    size = [links.bytes[rows]]
    table = iteration.collectives
    for row, op in enumerate(table.op):
        flows = collectives.flows(op, table.devices[row], int(table.bytes[row]))
        src.append(flows.src)
        dst.append(flows.dst)
        size.append(flows.bytes)
    return pair_demand(np.concatenate(src), np.concatenate(dst), np.concatenate(size))


def pair_demand(src: IntArray, dst: IntArray, size_bytes: IntArray) -> Demand:
    """Return rows added up by pair; shape (rows,) each.

    Parameters
    ----------
    src, dst
        Nodes, shape (rows,), at least one row; a pair may repeat.
    size_bytes
        Bytes of each row, shape (rows,).

    Examples
    --------
    >>> pair_demand(np.array([0, 1, 0]), np.array([1, 0, 1]), np.array([5, 2, 7]))
    Demand(src=(0, 1), dst=(1, 0), bytes=(12, 2), relays=False)
    """
    count = int(max(src.max(initial=0), dst.max(initial=0))) + 1
    pairs, of = np.unique(src * count + dst, return_inverse=True)
    total = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(total, of.reshape(-1), size_bytes)
    return Demand(
        tuple((pairs // count).tolist()),
        tuple((pairs % count).tolist()),
        tuple(total.tolist()),
    )
