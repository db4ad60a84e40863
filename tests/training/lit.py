"""What circuits of a training have to be on any fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.task import Demand


def assert_lit(fabric: CircuitFabric, circuits: Circuits) -> None:
    """Assert that a fabric can hold circuits: no fault, nothing taken too often."""
    assert list(fabric.circuit_faults(circuits)) == []
    usage = fabric.usage(circuits)
    taken, of = np.unique(usage.resource, return_inverse=True)
    load = np.bincount(of.reshape(-1), weights=usage.amount, minlength=len(taken))
    assert (load <= fabric.capacity(taken)).all()


def assert_serves(circuits: Circuits, demand: Demand) -> None:
    """Assert that circuits are those of the pairs of a demand, each with one."""
    lit = set(zip(circuits.src.tolist(), circuits.dst.tolist(), strict=True))
    assert lit == set(zip(demand.src, demand.dst, strict=True))
