"""How bytes are divided over direct circuits and ways of two, as a linear program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class RelayStages:
    """What all switches hold in turn; a stage is a step in a configuration.

    `heads`: where each switch leads from each node, -1 for nowhere; shape
    (configurations, switches, nodes). `turns`: steps in which each configuration is
    used, one after another.
    """

    heads: IntArray
    turns: tuple[int, ...]

    @property
    def configuration(self) -> IntArray:
        """Configuration of each stage, and so of each step."""
        return np.repeat(np.arange(len(self.turns)), self.turns)


@dataclass(frozen=True, eq=False)
class RelayWays:
    """Direct circuits, and two one after the other, by which bytes of pairs may go.

    A circuit is numbered by stage, switch and source. Rows are ways.

    `first`, `second`: circuits; of a direct way `second` is -1.
    """

    pair: IntArray
    first: IntArray
    second: IntArray


@dataclass(frozen=True, eq=False)
class RelayFlows:
    """How much goes each way, and how long that takes.

    `amount`: of each way, in the unit of the demand. `stage`: how long each stage moves
    data.
    """

    amount: FloatArray
    stage: FloatArray


def relay_ways(stages: RelayStages, row_of: IntArray) -> RelayWays:
    """Return all ways of one circuit or two of the pairs of a demand.

    `row_of`: row of the demand of each pair, -1 where nothing is asked; shape (nodes,
    nodes).
    """
    heads = stages.heads[stages.configuration]
    count, switches, nodes = heads.shape
    node = np.arange(nodes)
    pairs, firsts, seconds = [], [], []

    def add(final: IntArray, first: IntArray, second: IntArray) -> None:
        row = np.where(final >= 0, row_of[node, final], -1)
        asked = row >= 0
        pairs.append(row[asked])
        firsts.append(first[asked])
        seconds.append(second[asked])

    for slot in range(count * switches):
        stage, head = slot // switches, heads.reshape(-1, nodes)[slot]
        add(head, slot * nodes + node, np.full(nodes, -1))
        for then in range((stage + 1) * switches, count * switches):
            following = heads.reshape(-1, nodes)[then]
            final = np.where(head >= 0, following[head], -1)
            # A way over the destination itself would be a direct one.
            add(
                np.where(final == head, -1, final),
                slot * nodes + node,
                then * nodes + head,
            )
    return RelayWays(
        np.concatenate(pairs), np.concatenate(firsts), np.concatenate(seconds)
    )


def best_flows(
    stages: RelayStages, ways: RelayWays, need: FloatArray
) -> RelayFlows | None:
    """Return how much goes each way, so that all stages together last least.

    A stage lasts as long as its fullest circuit moves data.

    `need`: how much goes from each pair's source to its destination, shape (pairs,).

    Returns ``None`` where some pair has no way.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    if (np.bincount(ways.pair, minlength=len(need)) == 0).any():
        return None
    count, (_, switches, nodes) = sum(stages.turns), stages.heads.shape
    way, width = np.arange(len(ways.pair)), len(ways.pair)
    over = np.flatnonzero(ways.second >= 0)
    circuit, row = np.unique(
        np.concatenate([ways.first, ways.second[over]]), return_inverse=True
    )
    used = len(circuit)
    # Columns: ways, then stages. Rows: circuits, whose stage lasts as long.
    columns = np.concatenate([way, way[over], width + circuit // (switches * nodes)])
    rows = np.concatenate([row, np.arange(used)])
    values = np.concatenate([np.ones(len(row)), -np.ones(used)])
    loads = csr_array((values, (rows, columns)), shape=(used, width + count))
    shares = csr_array(
        (np.ones(width), (ways.pair, way)), shape=(len(need), width + count)
    )
    found = linprog(
        np.append(np.zeros(width), np.ones(count)),
        A_ub=loads,
        b_ub=np.zeros(used),
        A_eq=shares,
        b_eq=need,
        method="highs-ipm",
    )
    if found.x is None:
        return None
    parts = np.maximum(found.x, 0.0)
    return RelayFlows(parts[:width], parts[width:])
