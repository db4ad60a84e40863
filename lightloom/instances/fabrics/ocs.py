"""Parallel optical circuit switches, each joined to every node (SiP-ML paper, A.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFault, Usage
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import CircuitFabricRecord, Resources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray


class Ocs(CircuitFabricRecord, frozen=True, kw_only=True):
    """Optical circuit switches in parallel: plane k is switch k.

    Every node has a port on every switch. A switch holds a partial permutation: at
    most one circuit leaves a node and at most one enters it.

    Parameters
    ----------
    nodes
        Number of nodes.
    switches
        Number of switches, Q in the paper.
    bits_per_second_per_node
        Rate of a node over all switches, B in the paper; a circuit has the Q-th part
        of it, rounded down to the bit per second.
    bidirectional
        Whether a port joins its node to the same other node both ways: what a switch
        holds is then a matching, and a circuit back may be used at no cost.
    alpha_ps
        Fixed cost of a transfer.
    reconfiguration_ps
        Time to leave one segment for the next, each switch on its own.
    initial_configuration_charged
        Whether the first segment of a switch pays for its reconfiguration.
    dark_while_reconfiguring
        ``plane``: the whole switch is dark meanwhile; ``changed-circuits``: circuits
        that stay as they are remain lit.
    """

    kind: Literal["ocs"] = "ocs"
    nodes: Annotated[int, Meta(ge=1, le=2**20)]
    switches: Annotated[int, Meta(ge=1, le=2**16)]
    bits_per_second_per_node: Annotated[int, Meta(ge=1, le=10**18)]
    bidirectional: bool = False
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    reconfiguration_ps: Annotated[int, Meta(ge=0, le=10**15)] = 10_000_000_000
    initial_configuration_charged: bool = True
    dark_while_reconfiguring: Literal["plane", "changed-circuits"] = "plane"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bits_per_second_per_node < self.switches:
            what = "a circuit has less than a bit per second"
            where = "fabric.bits_per_second_per_node"
            allowed = f"at least {self.switches}, one for each switch"
            found = self.bits_per_second_per_node
            raise InputError(what, where=where, found=found, allowed=allowed)

    # -- size and cost -------------------------------------------------------

    @property
    def bits_per_second_per_circuit(self) -> int:
        """Rate of a circuit."""
        return self.bits_per_second_per_node // self.switches

    @property
    def node_bits_per_s(self) -> int:
        """Rate of a node with a circuit on every switch."""
        return self.switches * self.bits_per_second_per_circuit

    @property
    def plane_count(self) -> int:
        """One plane a switch."""
        return self.switches

    @property
    def ports_per_node(self) -> int:
        """Most circuits leaving, and entering, a node: one a switch."""
        return self.switches

    @property
    def circuit_columns(self) -> tuple[str, ...]:
        """None: the plane is the switch."""
        return ()

    # -- circuits ------------------------------------------------------------

    def circuit_faults(self, circuits: Circuits) -> Iterator[CircuitFault]:
        """Yield nothing: a switch joins any two of its ports."""
        del circuits
        yield from ()

    # -- resources of a switch: inputs, then outputs, then ports both ways --------

    def usage(self, circuits: Circuits) -> Usage:
        """Return the ports of circuits.

        A circuit takes an input and an output. Where circuits are bidirectional, the
        first circuit between two nodes, whichever way, takes the ports of both.
        """
        src, dst = circuits.src, circuits.dst
        row = np.arange(len(src), dtype=np.int64)
        circuit, resource = [row, row], [src, self.nodes + dst]
        if self.bidirectional:
            low, high = np.minimum(src, dst), np.maximum(src, dst)
            _, first = np.unique(low * self.nodes + high, return_index=True)
            first = np.sort(first)
            circuit += [first, first]
            resource += [2 * self.nodes + low[first], 2 * self.nodes + high[first]]
        taken = np.concatenate(resource)
        amount = np.ones(len(taken), dtype=np.int64)
        return Usage(np.concatenate(circuit), taken, amount)

    def resources(self) -> tuple[Resources, ...]:
        """Return the inputs and outputs of a switch, and ports that are both."""
        kinds = (("switch-inputs", "input port"), ("switch-outputs", "output port"))
        return tuple(
            Resources(rule, (self.nodes,), (words + " of node {}").format)
            for rule, words in (*kinds, ("switch-ports", "port"))
        )

    def circuit_bits_per_s(self, circuits: Circuits) -> IntArray:
        """Return the rate of each circuit."""
        rate = self.bits_per_second_per_circuit
        return np.full(len(circuits), rate, dtype=np.int64)


FABRIC = FabricKind("ocs", Ocs)
