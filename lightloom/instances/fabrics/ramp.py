"""RAMP: groups of racks, joined by a passive subnet per group pair and transceiver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from msgspec import Meta

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFault, Usage
from lightloom.instances.fabrics import FabricKind
from lightloom.instances.fabrics.fabric_record import (
    MOST_NODES,
    CircuitFabricRecord,
    Resources,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray

BROADCAST_AND_SELECT = "broadcast-and-select"
ROUTE_AND_BROADCAST = "route-and-broadcast"
ROUTE_AND_SWITCH = "route-and-switch"

_MOST_SHARED = 2**20
"""Resources of all subnets beyond which none of them is priced: 8 MiB a column."""

Size = Annotated[int, Meta(ge=1, le=1024)]
Time = Annotated[int, Meta(ge=0, le=10**15)]


class Ramp(CircuitFabricRecord, frozen=True, kw_only=True):
    """A RAMP network (RAMP paper, section 3): any node reaches any other in one hop.

    Node (g, j, lam), the device `lam` of rack `j` of communication group `g`, is node
    ``(g * racks + j) * nodes_per_rack + lam``. It has one transceiver group for each
    communication group; in what follows, *transceiver* t is its t-th transceiver
    group, whose `transceivers_per_group` transceivers send the same wavelength on
    parallel fibres. Transceiver t of a node reaches transceiver t of every node, over
    the subnet (group of src, group of dst, t); the number of dst in its rack decides
    the wavelength.

    Parameters
    ----------
    groups
        Communication groups, x in the paper; also transceivers of a node.
    racks
        Racks of a group, J in the paper; at most `groups`.
    nodes_per_rack
        Nodes of a rack and wavelengths of a subnet, Lambda in the paper; a multiple of
        `groups`, at most its square. The paper states none of these conditions, but its
        maps of nodes to subgroups need them.
    transceivers_per_group
        Transceivers that share light source and instructions, b in the paper.
    bits_per_second_per_transceiver
        Rate of one of them.
    subnet
        What joins two groups. ``broadcast-and-select``: one star coupler, receivers
        fixed to the wavelength of their number. ``route-and-broadcast``: one arrayed
        waveguide grating a rack, then couplers between racks; wavelength
        ``(lam of dst - lam of src) mod nodes_per_rack``. ``route-and-switch``: the
        same gratings, then a crossbar switch between racks for each number.
    slot_ps
        Length of a time slot: a reconfiguration, then data. At most 10**15.
    alpha_ps
        Fixed cost of a transfer. Default: 1.25 us of propagation, and 100 ns between
        memory and transceiver at both ends.
    reconfiguration_ps
        Time to tune lasers and gates.
    initial_configuration_charged
        Whether the first segment pays for its reconfiguration.
    dark_while_reconfiguring
        ``changed-circuits``: what stays as it is remains lit; ``plane``: nothing does.
    """

    kind: Literal["ramp"] = "ramp"
    groups: Size
    racks: Size
    nodes_per_rack: Annotated[int, Meta(ge=1, le=2**20)]
    transceivers_per_group: Annotated[int, Meta(ge=1, le=4096)] = 1
    bits_per_second_per_transceiver: Annotated[int, Meta(ge=1, le=10**12)] = (
        400_000_000_000
    )
    subnet: Literal[
        "broadcast-and-select", "route-and-broadcast", "route-and-switch"
    ] = "broadcast-and-select"
    slot_ps: Annotated[int, Meta(ge=1, le=10**15)] = 20_000
    alpha_ps: Time = 1_450_000
    reconfiguration_ps: Time = 1_000
    initial_configuration_charged: bool = True
    dark_while_reconfiguring: Literal["plane", "changed-circuits"] = "plane"

    def __post_init__(self) -> None:
        super().__post_init__()
        x, rows = self.groups, self.nodes_per_rack
        found = (x, self.racks, rows)
        shape = "(groups, racks, nodes_per_rack)"
        racks = min(self.racks, x)
        below = min(max(rows // x, 1), x) * x
        above = min(max(-(-rows // x), 1), x) * x
        fix = " or ".join(
            f"{(x, racks, count)}" for count in sorted({below, above}, reverse=True)
        )
        failed = ""
        if rows % x:
            failed = (
                f"groups must divide nodes_per_rack, and {x} does not divide {rows}"
            )
        elif self.racks > x:
            failed = f"racks may not exceed groups, and {self.racks} > {x}"
        elif rows // x > x:
            failed = (
                f"nodes_per_rack / groups may not exceed groups, and {rows // x} > {x}"
            )
        if failed:
            raise InputError(
                failed, where="fabric", found=found, fix=f"nearest {shape}: {fix}"
            )
        if self.node_count > MOST_NODES:
            what = "too many nodes"
            allowed = f"groups * racks * nodes_per_rack <= {MOST_NODES}"
            count = self.node_count
            raise InputError(what, where="fabric", found=count, allowed=allowed)
        if self.reconfiguration_ps >= self.slot_ps:
            what = "a slot must be longer than the reconfiguration it begins with"
            allowed = f"more than {self.reconfiguration_ps}"
            where = "fabric.slot_ps"
            raise InputError(what, where=where, found=self.slot_ps, allowed=allowed)

    # -- size and cost -------------------------------------------------------

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.groups * self.racks * self.nodes_per_rack

    @property
    def transceiver_bits_per_s(self) -> int:
        """Rate of a circuit: of one transceiver group."""
        return self.transceivers_per_group * self.bits_per_second_per_transceiver

    @property
    def bits_per_second_per_wavelength(self) -> int:
        """Rate of a lane of a subnet: of one transceiver group."""
        return self.transceiver_bits_per_s

    @property
    def node_bits_per_s(self) -> int:
        """Rate of a node over all its transceivers."""
        return self.groups * self.transceiver_bits_per_s

    @property
    def slot_bytes(self) -> int:
        """Data that a circuit carries in a time slot."""
        lit_ps = self.slot_ps - self.reconfiguration_ps
        return self.transceiver_bits_per_s * lit_ps // (8 * 10**12)

    @property
    def ports_per_node(self) -> int:
        """Most circuits leaving, and entering, a node: one a transceiver."""
        return self.groups

    @property
    def circuit_columns(self) -> tuple[str, ...]:
        """Transceiver; several destinations are possible."""
        return ("transceiver", "multicast")

    # -- coordinates ---------------------------------------------------------

    def node(self, group: IntArray, rack: IntArray, number: IntArray) -> IntArray:
        """Return the nodes at some coordinates.

        `group`, `rack`, `number`: coordinates, of equal shapes: the communication
        group, the rack in it, and the node in the rack, each from 0 and below `groups`,
        `racks` and `nodes_per_rack`.
        """
        return (group * self.racks + rack) * self.nodes_per_rack + number

    def coordinates(self, node: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return (group, rack, number in the rack) of nodes."""
        rack, number = node // self.nodes_per_rack, node % self.nodes_per_rack
        return rack // self.racks, rack % self.racks, number

    def wavelength(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return the wavelength on which src reaches dst.

        `src`, `dst`: nodes, of shape (rows,), each from 0 to ``node_count - 1``.
        """
        number = dst % self.nodes_per_rack
        if self.subnet == BROADCAST_AND_SELECT:
            return number
        return (number - src % self.nodes_per_rack) % self.nodes_per_rack

    def shared_lanes(self) -> IntArray:
        """Return the transceivers by which pairs share each wavelength of a subnet.

        Those from group 0 to every group, then from group 1, and so on; of a coupler
        or switch behind gratings its inputs. None where they are very many.
        """
        count = self.groups**2 * self._per_subnet
        kept = count if count <= _MOST_SHARED else 0
        return np.full(kept, self.groups, dtype=np.int64)

    def cheapest(
        self,
        prices: IntArray,
        src: IntArray,
        dst: IntArray,
        circuits: int | None = None,
        nodes: IntArray | None = None,
    ) -> IntArray:
        """Return what data pay for the wavelength by which they arrive.

        By one circuit that is the wavelength from source to destination. Several may
        arrive from any group, so they pay what the cheapest of these costs.

        Parameters
        ----------
        prices
            Of each wavelength of each pair of groups, as in `shared_lanes`.
        src, dst
            Nodes, of shape (rows,), each from 0 to ``node_count - 1``.
        circuits
            Most circuits, one after another; ``None`` for any number.
        nodes
            Nodes that may hand data on; all groups are taken to have some.
        """
        del nodes
        size = self.racks * self.nodes_per_rack
        group = dst // size
        if circuits == 1:
            subnet = src // size * self.groups + group
            straight: IntArray = prices[
                subnet * self._per_subnet + self._in_subnet(src, dst)
            ]
            return straight
        inputs = self._per_subnet // self.nodes_per_rack
        shape = self.groups, self.groups, self.nodes_per_rack, inputs
        least = prices.reshape(shape).min(axis=(0, 3))
        paid: IntArray = least[group, dst % self.nodes_per_rack]
        return np.where(src == dst, 0, paid)

    # -- circuits ------------------------------------------------------------

    def circuit_faults(self, circuits: Circuits) -> Iterator[CircuitFault]:
        """Yield transceivers there are not, and multicast on several wavelengths."""
        used = circuits.column("transceiver")
        for row in np.flatnonzero((used < 0) | (used >= self.groups)).tolist():
            message = f"transceiver {used[row]}, allowed 0 to {self.groups - 1}"
            yield CircuitFault("transceiver-range", row, message)
        if circuits.multicast is None:
            return
        wavelength = self.wavelength(circuits.src, circuits.dst)
        tuned = wavelength[circuits.transmissions()]
        for row in np.flatnonzero(wavelength != tuned).tolist():
            message = (
                f"the destination is on wavelength {wavelength[row]}, the circuit on"
                f" {tuned[row]}"
            )
            yield CircuitFault("multicast-wavelength", row, message)

    # -- resources: wavelengths of subnets, then transmitters, then receivers -----

    @property
    def _inner(self) -> int:
        """Resources of a subnet for each number of a node in its rack."""
        inner = {
            BROADCAST_AND_SELECT: 1,
            ROUTE_AND_BROADCAST: self.nodes_per_rack,
            ROUTE_AND_SWITCH: self.racks,
        }
        return inner[self.subnet]

    @property
    def _per_subnet(self) -> int:
        """Resources of a subnet."""
        return self.nodes_per_rack * self._inner

    def _in_subnet(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return what circuits take of their subnet.

        All racks of a group are coupled. Behind gratings, light of different numbers
        arrives at the coupler of a number on different wavelengths; a crossbar switch
        lets what comes from one rack go to one rack.
        """
        number = dst % self.nodes_per_rack
        if self.subnet == BROADCAST_AND_SELECT:
            return number
        if self.subnet == ROUTE_AND_BROADCAST:
            return number * self.nodes_per_rack + self.wavelength(src, dst)
        return number * self.racks + src // self.nodes_per_rack % self.racks

    def usage(self, circuits: Circuits) -> Usage:
        """Return the wavelengths, transmitters and receivers of sound circuits.

        A multicast circuit takes its transmitter once, and so it does the wavelength
        of a subnet, but for the crossbars of ``route-and-switch``, whose inputs have
        one output.
        """
        src, dst, used = circuits.src, circuits.dst, circuits.column("transceiver")
        size = self.racks * self.nodes_per_rack
        subnet = (src // size * self.groups + dst // size) * self.groups + used
        subnet = subnet * self._per_subnet + self._in_subnet(src, dst)
        transmitter = self._transmitters + src * self.groups + used
        receiver = self._transmitters + (self.node_count + dst) * self.groups + used
        every = np.arange(len(src), dtype=np.int64)
        carried = sent = every
        if circuits.multicast is not None:
            circuit = circuits.transmissions()
            sent = np.flatnonzero(circuit == every)
            if self.subnet != ROUTE_AND_SWITCH:
                carried = _firsts(circuit, subnet)
        rows = np.concatenate([carried, sent, every])
        taken = np.concatenate([subnet[carried], transmitter[sent], receiver])
        return Usage(rows, taken, np.ones(len(rows), dtype=np.int64))

    @property
    def _transmitters(self) -> int:
        """Number of the first transmitter."""
        return self.groups**3 * self._per_subnet

    def resources(self) -> tuple[Resources, ...]:
        """Return wavelengths, couplers or crossbars of subnets, and both ends."""
        inside = {
            BROADCAST_AND_SELECT: "wavelength {3} of {5}",
            ROUTE_AND_BROADCAST: "wavelength {4} of coupler {3} of {5}",
            ROUTE_AND_SWITCH: "input {4} of switch {3} of {5}",
        }[self.subnet]

        def name(src: int, dst: int, used: int, number: int, inner: int) -> str:
            place = f"subnet {used} from group {src} to {dst}"
            return inside.format(src, dst, used, number, inner, place)

        sizes = (*(self.groups,) * 3, self.nodes_per_rack, self._inner)
        ends = (self.node_count, self.groups)
        return (
            Resources("subnets", sizes, name),
            Resources("transmitters", ends, "transmitter {1} of node {0}".format),
            Resources("receivers", ends, "receiver {1} of node {0}".format),
        )

    def circuit_bits_per_s(self, circuits: Circuits) -> IntArray:
        """Return the rate of each circuit."""
        return np.full(len(circuits), self.transceiver_bits_per_s, dtype=np.int64)


def _firsts(circuit: IntArray, resource: IntArray) -> npt.NDArray[np.int64]:
    """Return the first row of each (circuit, resource), sorted."""
    order = np.lexsort((resource, circuit))
    circuit, resource = circuit[order], resource[order]
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (circuit[1:] != circuit[:-1]) | (resource[1:] != resource[:-1])
    return np.sort(order[first])


FABRIC = FabricKind("ramp", Ramp)
