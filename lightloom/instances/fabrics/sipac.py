"""SiPAC: wavelength-selective switches in the pattern of a BCube (Wu et al., 2023)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFault, Usage
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import (
    MOST_NODES,
    Resources,
    WavelengthFabricRecord,
    wavelength_faults,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray

_NOT_ONE_SWITCH = -1
"""Stands for the level of two nodes that share no switch."""


class Sipac(WavelengthFabricRecord, frozen=True, kw_only=True):
    """SiPAC(r, l): L = l + 1 levels of optical switches, r compute units on each.

    A node's number in base r has L digits, the digit of level 0 being the last. The r
    nodes that agree in all digits but that of level k share one switch of level k, on
    which the digit is their port; so a node has (l + 1)(r - 1) others one hop away.

    A node feeds one fibre into, and reads one fibre (an output bus) from, its switch
    of every level, with the same wavelengths on each. The rings of a switch drop each
    wavelength of each input on output buses; no bus may carry a wavelength twice. The
    *shuffle* does so for all at once: wavelength w of input i leaves on bus
    `output_bus` (i, w), a Latin square in which every two ports are joined by equally
    many wavelengths and nobody waits for anybody.

    All switches are tuned together, as one plane.

    Parameters
    ----------
    radix
        Ports of a switch, r.
    level
        Highest level, l: ``radix ** (level + 1)`` nodes.
    wavelengths_per_peer
        Wavelengths by which the shuffle joins two ports of a switch.
    loopback
        Whether the shuffle leads as many wavelengths back to their own node, where
        they are lost, as in the 3 x 3 switch of the paper's Fig. 1b with 9 wavelengths.
    bits_per_second_per_node
        Rate of all wavelengths of all levels of a node together; each has its equal
        share of it, rounded down to the bit per second.
    switching
        ``tunable``: rings drop any wavelengths on any buses, one wavelength also on
        several (multicast); ``fixed``: switches hold the shuffle for good.
    alpha_ps
        Fixed cost of a transfer.
    reconfiguration_ps
        Time to leave one segment for the next.
    initial_configuration_charged
        Whether the first segment pays for its reconfiguration.
    dark_while_reconfiguring
        ``plane``: nothing is lit meanwhile; ``changed-circuits``: circuits that
        stay as they are remain lit.
    """

    kind: Literal["sipac"] = "sipac"
    radix: Annotated[int, Meta(ge=2, le=2**10)]
    level: Annotated[int, Meta(ge=1, le=19)] = 1
    wavelengths_per_peer: Annotated[int, Meta(ge=1, le=2**10)] = 1
    loopback: bool = False
    bits_per_second_per_node: Annotated[int, Meta(ge=1, le=10**15)] = 2_048_000_000_000
    switching: Literal["tunable", "fixed"] = "tunable"
    alpha_ps: Annotated[int, Meta(ge=0, le=10**15)] = 700_000
    reconfiguration_ps: Annotated[int, Meta(ge=0, le=10**15)] = 25_000_000
    initial_configuration_charged: bool = False
    dark_while_reconfiguring: Literal["plane", "changed-circuits"] = "plane"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.node_count > MOST_NODES:
            what = "too many nodes"
            allowed = f"radix ** (level + 1) <= {MOST_NODES}"
            found = self.node_count
            raise InputError(what, where="fabric", found=found, allowed=allowed)
        if self.bits_per_second_per_wavelength < 1:
            what = "a wavelength has less than a bit per second"
            where = "fabric.bits_per_second_per_node"
            allowed = f"at least {self.lasers_per_node}, one for each wavelength"
            found = self.bits_per_second_per_node
            raise InputError(what, where=where, found=found, allowed=allowed)

    # -- size and cost -------------------------------------------------------

    @property
    def levels(self) -> int:
        """Number of levels, L."""
        return self.level + 1

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        count: int = self.radix**self.levels
        return count

    @property
    def groups(self) -> int:
        """Groups of wavelengths that the shuffle leads to different buses."""
        return self.radix if self.loopback else self.radix - 1

    @property
    def wavelengths(self) -> int:
        """Wavelengths of a fibre."""
        return self.groups * self.wavelengths_per_peer

    @property
    def lasers_per_node(self) -> int:
        """Wavelengths of all levels of a node."""
        return self.levels * self.wavelengths

    @property
    def bits_per_second_per_wavelength(self) -> int:
        """Rate of one wavelength."""
        return self.bits_per_second_per_node // self.lasers_per_node

    @property
    def node_bits_per_s(self) -> int:
        """Rate of a node with all its lasers on."""
        return self.lasers_per_node * self.bits_per_second_per_wavelength

    @property
    def ports_per_node(self) -> int:
        """Most nodes that a node can send to, and hear, at a time: all one hop away."""
        return self.levels * (self.radix - 1)

    @property
    def circuit_columns(self) -> tuple[str, ...]:
        """Wavelengths, and where rings can be tuned so that buses share one."""
        tunable = self.switching == "tunable"
        return ("wavelengths", "multicast") if tunable else ("wavelengths",)

    # -- switches ------------------------------------------------------------

    def level_of(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return the level on whose switch both nodes are; -1 if there is none.

        `src`, `dst`: nodes, of shape (rows,), each from 0 to ``node_count - 1``.
        """
        level = np.full(len(src), _NOT_ONE_SWITCH, dtype=np.int64)
        differ = np.zeros(len(src), dtype=np.int64)
        for number in range(self.levels):
            apart = self.port(src, number) != self.port(dst, number)
            level[apart] = number
            differ += apart
        level[differ != 1] = _NOT_ONE_SWITCH
        return level

    def circuits_apart(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return how many circuits data need at least, one after another."""
        apart = np.zeros(len(src), dtype=np.int64)
        for number in range(self.levels):
            apart += self.port(src, number) != self.port(dst, number)
        return apart

    def shared_lanes(self) -> IntArray:
        """Return the wavelengths of each fibre, node by node, then of each bus."""
        ends = 2 * self.node_count * self.levels
        return np.full(ends, self.wavelengths, dtype=np.int64)

    def cheapest(
        self,
        prices: IntArray,
        src: IntArray,
        dst: IntArray,
        circuits: int | None = None,
        nodes: IntArray | None = None,
    ) -> IntArray:
        """Return what data pay for the fibre and the bus of each level they cross.

        They cross each level on which their ends differ. By one circuit, or two, ends
        that differ on one level alone are joined by the fibre of the one and the bus of
        the other; else a level costs what its cheapest fibre and its cheapest bus do.

        `prices`: of the fibres of each node, level by level, then of its buses. `src`,
        `dst`: nodes, of shape (rows,), each from 0 to ``node_count - 1``. `circuits`:
        most circuits, one after another; ``None`` for any number. `nodes`: nodes that
        may hand data on, of shape (nodes,); ``None`` for all.
        """
        fibre, bus = prices.reshape(2, self.node_count, self.levels)
        passed = slice(None) if nodes is None else nodes
        least = fibre[passed].min(axis=0) + bus[passed].min(axis=0)
        paid = np.zeros(len(src), dtype=np.int64)
        for level in range(self.levels):
            differ = self.port(src, level) != self.port(dst, level)
            paid += differ * least[level]
        if circuits is not None:
            joined = self.level_of(src, dst)
            near = joined != _NOT_ONE_SWITCH
            on = joined[near]
            paid[near] = fibre[src[near], on] + bus[dst[near], on]
        return paid

    def port(self, node: IntArray, level: IntArray | int) -> IntArray:
        """Return the ports of nodes on their switch of some level.

        `level`: level of the switch, from 0 to ``levels - 1``: one for all, or one for
        each node. The port is digit `level` of the node written in base `radix`.
        """
        port: IntArray = node // self.radix ** np.asarray(level) % self.radix
        return port

    def output_bus(self, port: IntArray, wavelength: IntArray) -> IntArray:
        """Return the bus on which the shuffle drops a wavelength of an input port.

        Groups are interleaved, as rings drop every so many wavelengths: w belongs to
        group ``w mod groups``, and goes that many ports further round, one more where
        no wavelength is led back.

        `port`: input ports of a switch, from 0 to ``radix - 1``. `wavelength`:
        wavelengths, from 0 to ``wavelengths - 1``, of the shape of `port`.
        """
        group = wavelength % self.groups
        bus: IntArray = (port + group + (not self.loopback)) % self.radix
        return bus

    def shuffled(self, src: int, dst: int) -> list[int]:
        """Return the wavelengths by which the shuffle joins two nodes of a switch.

        Raises `ValueError` if no switch has them both.
        """
        level = int(self.level_of(np.array([src]), np.array([dst]))[0])
        if level == _NOT_ONE_SWITCH:
            message = f"no switch has nodes {src} and {dst}"
            raise ValueError(message)
        stride = self.radix**level
        further = dst // stride % self.radix - src // stride % self.radix
        group = (further - (not self.loopback)) % self.radix
        return list(range(group, self.wavelengths, self.groups))

    # -- circuits ------------------------------------------------------------

    def circuit_faults(self, circuits: Circuits) -> Iterator[CircuitFault]:
        """Yield circuits that no switch, ring or laser could make."""
        wavelengths = circuits.lists("wavelengths")
        src, dst = circuits.src, circuits.dst
        yield from wavelength_faults(wavelengths, self.wavelengths)
        level = self.level_of(src, dst)
        for row in np.flatnonzero(level == _NOT_ONE_SWITCH).tolist():
            message = "the nodes differ in several digits: no switch has both"
            yield CircuitFault("one-switch", row, message)
        if self.switching == "fixed":
            lit = wavelengths.row_of_value
            known = (wavelengths.values >= 0) & (wavelengths.values < self.wavelengths)
            known &= level[lit] != _NOT_ONE_SWITCH
            lit, colour = lit[known], wavelengths.values[known]
            bus = self.output_bus(self.port(src[lit], level[lit]), colour)
            astray = bus != self.port(dst[lit], level[lit])
            for row in np.unique(lit[astray]).tolist():
                allowed = self.shuffled(int(src[row]), int(dst[row]))
                message = (
                    f"wavelengths {wavelengths[row].tolist()}, the shuffle joins the"
                    f" nodes by {allowed}"
                )
                yield CircuitFault("shuffle", row, message)

    # -- resources: lasers, then photodiodes -------------------------------------

    def usage(self, circuits: Circuits) -> Usage:
        """Return the lasers and photodiodes of well-formed circuits.

        A photodiode is a wavelength of an output bus. A multicast circuit takes its
        lasers once, for the first of its rows.
        """
        wavelengths = circuits.lists("wavelengths")
        lit, colour = wavelengths.row_of_value, wavelengths.values
        level = self.level_of(circuits.src, circuits.dst)
        ends = self.node_count * self.lasers_per_node
        # One laser for each level on which a transmission is heard.
        transmission = circuits.transmissions() * self.levels + level
        _, sending = np.unique(transmission, return_index=True)
        feeding = np.isin(lit, sending)
        port = level[lit] * self.wavelengths + colour
        laser = circuits.src[lit] * self.lasers_per_node + port
        photodiode = ends + circuits.dst[lit] * self.lasers_per_node + port
        circuit = np.concatenate([lit[feeding], lit])
        resource = np.concatenate([laser[feeding], photodiode])
        return Usage(circuit, resource, np.ones(len(resource), dtype=np.int64))

    def resources(self) -> tuple[Resources, ...]:
        """Return the lasers and photodiodes of nodes, level by level."""
        sizes = (self.node_count, self.levels, self.wavelengths)
        return tuple(
            Resources(f"{end}s", sizes, (end + " {2} of node {0} at level {1}").format)
            for end in ("laser", "photodiode")
        )


FABRIC = FabricKind("sipac", Sipac)
