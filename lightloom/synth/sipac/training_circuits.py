"""Circuits that SiPAC keeps for a training."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InfeasibleError
from lightloom.core.task import Demand
from lightloom.core.units import PS_PER_US
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.replay.workload import ocs_period_ps
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.fabrics.training_plug import TrainingCircuits
from lightloom.synth.ocs.switch_circuits import switch_circuits

if TYPE_CHECKING:
    from lightloom.instances.fabrics.sipac import Sipac
    from lightloom.synth.fabrics.training_plug import PlaneCircuits


def _ports(fabric: Sipac) -> int:
    """Return the nodes of a switch: devices of one model share one."""
    return fabric.radix


def _lasting(fabric: Sipac, demand: Demand) -> PlaneCircuits:
    """Return the shuffle where it is fixed, else the optimum of each switch.

    A switch is one of SiP-ML's for each wavelength, and there are enough of them for
    all that share it.
    """
    src, dst, size_bytes = demand_columns(demand, fabric.node_count)
    level = fabric.level_of(src, dst)
    for row in np.flatnonzero(level < 0)[:1].tolist():
        raise InfeasibleError(
            f"no switch has both nodes {src[row]} and {dst[row]}",
            where=f"demand row {row}",
            allowed="pairs of one hop",
            fix="place them on one switch",
        )
    if fabric.switching == "fixed":
        pairs = zip(src.tolist(), dst.tolist(), strict=True)
        shuffled = Ragged.from_lists([fabric.shuffled(*pair) for pair in pairs])
        return {0: Circuits(src, dst, shuffled)}
    one, other = (fabric.port(nodes, level) for nodes in (src, dst))
    switch = level * fabric.node_count + src - one * fabric.radix**level
    order = np.argsort(switch, kind="stable")
    starts = np.flatnonzero(np.diff(switch[order], prepend=-1))
    known: dict[Demand, list[list[int]]] = {}
    lit: list[list[int]] = []
    for rows in np.split(order, starts[1:]) if len(order) else ():
        columns = (one[rows], other[rows], size_bytes[rows])
        tail, head, size = (tuple(each.tolist()) for each in columns)
        part = Demand(tail, head, size)
        if part not in known:
            known[part] = _switch_wavelengths(fabric, part)
        lit += known[part]
    return {0: Circuits(src[order], dst[order], Ragged.from_lists(lit))}


def _switch_wavelengths(fabric: Sipac, part: Demand) -> list[list[int]]:
    """Return the wavelengths of each pair of a switch."""
    lanes = Ocs(
        nodes=fabric.radix,
        switches=fabric.wavelengths,
        bits_per_second_per_node=fabric.node_bits_per_s,
    )
    plan = switch_circuits(lanes, part)
    lit: list[list[int]] = [[] for _ in part.src]
    for wavelength, pairs in enumerate(plan.pairs):
        for pair in pairs.tolist():
            lit[pair].append(wavelength)
    return lit


def _period_ps(fabric: Sipac) -> int:
    return ocs_period_ps(fabric) or PS_PER_US


CIRCUITS = TrainingCircuits(_ports, _lasting, _lasting, _lasting, _period_ps)
