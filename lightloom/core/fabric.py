"""What every room may ask of a fabric, whatever its kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray


FabricTable: TypeAlias = dict[str, int | str | bool]
"""A fabric as its instance table: every key, defaults filled in."""


@dataclass(frozen=True)
class CircuitFault:
    """A circuit that the fabric could not build, however idle it were.

    Attributes
    ----------
    rule
        Rule id, for example ``route-is-path``.
    row
        Row of the circuit in its segment.
    message
        What is wrong with it.
    """

    rule: str
    row: int
    message: str


@dataclass(frozen=True, eq=False)
class Usage:
    """What circuits take of the fabric: row i takes `amount[i]` of `resource[i]`.

    Columns of equal length; one circuit may appear in many rows. `circuit` is the
    row of the circuit in its segment.
    """

    circuit: IntArray
    resource: IntArray
    amount: IntArray


class Fabric(Protocol):
    """An interconnect of `node_count` nodes, numbered from 0."""

    @property
    def kind(self) -> str:
        """Name of the fabric's kind, as in ``[fabric] kind``."""

    @property
    def node_count(self) -> int:
        """Number of nodes."""

    @property
    def alpha_ps(self) -> int:
        """Fixed cost of a transfer in picoseconds, paid once per pair and step."""

    @property
    def node_bits_per_s(self) -> int:
        """Most bits per second that a node can send, and that it can receive."""

    def table(self) -> FabricTable:
        """Return the fabric as its instance table."""


@runtime_checkable
class CircuitFabric(Fabric, Protocol):
    """A fabric that carries data on circuits of reconfigurable planes."""

    @property
    def plane_count(self) -> int:
        """Number of planes, each reconfigured on its own."""

    @property
    def reconfiguration_ps(self) -> int:
        """Time to leave one segment for the next, in picoseconds."""

    @property
    def initial_configuration_charged(self) -> bool:
        """Whether the first segment of a plane pays for its reconfiguration."""

    @property
    def dark_while_reconfiguring(self) -> str:
        """``plane``, or ``changed-circuits`` where kept circuits stay lit."""

    @property
    def circuit_columns(self) -> tuple[str, ...]:
        """Columns of a segment beside src and dst, for example ``route``.

        ``multicast`` among them says that a circuit may have several destinations;
        that column alone may be left out of a segment.
        """

    @property
    def ports_per_node(self) -> int:
        """Most circuits that may leave, and that may enter, a node at a time."""

    def circuit_faults(self, circuits: Circuits) -> Iterator[CircuitFault]:
        """Yield every circuit that is malformed by itself."""

    def usage(self, circuits: Circuits) -> Usage:
        """Return what well-formed circuits take of each resource."""

    def capacity(self, resources: IntArray) -> IntArray:
        """Return how much there is of each resource."""

    def resource_rule(self, resource: int) -> str:
        """Return the rule id that limits the resource, for example ``lasers``."""

    def resource_name(self, resource: int) -> str:
        """Return the resource in words, for example ``laser 3 of node 7``."""

    def circuit_bits_per_s(self, circuits: Circuits) -> IntArray:
        """Return the rate of each circuit in bits per second."""


@runtime_checkable
class NearCircuits(Protocol):
    """What a fabric has too whose circuits join near nodes only."""

    def circuits_apart(self, src: IntArray, dst: IntArray) -> IntArray:
        """Return how many circuits data need at least, one after another.

        Parameters
        ----------
        src, dst
            Nodes, of shape (rows,), each from 0 to ``node_count - 1``.
        """


@runtime_checkable
class SharedWays(Protocol):
    """What a circuit fabric has too whose circuits share more than ports of nodes.

    A *lane* is one wavelength, or whatever else a circuit takes at least one of on all
    its way. A fabric that has this has bounds by its own resources; one plane only.
    """

    @property
    def bits_per_second_per_wavelength(self) -> int:
        """Rate of a lane."""

    def shared_lanes(self) -> IntArray:
        """Return how many lanes there are of each resource, shape (resources,)."""

    def cheapest(
        self,
        prices: IntArray,
        src: IntArray,
        dst: IntArray,
        circuits: int | None = None,
        nodes: IntArray | None = None,
    ) -> IntArray:
        """Return what a byte from each source to its destination pays at least.

        Parameters
        ----------
        prices
            Of each resource, for each byte that it carries, shape (resources,), from
            0 to 2**24.
        src, dst
            Nodes, of shape (rows,), each from 0 to ``node_count - 1``.
        circuits
            How many circuits may lead there one after another: one, two or, as
            ``None``, any number. In the last case no answer from u to w is more than
            the sum of those from u to v and from v to w.
        nodes
            Nodes that may hand data on from circuit to circuit, shape (nodes,), sources
            and destinations among them; ``None`` for all.

        Returns
        -------
        Shape (rows,). Where no circuits lead there any number serves.
        """


@runtime_checkable
class PacketFabric(Fabric, Protocol):
    """A fabric with no circuits: transfers share links."""

    @property
    def latency_ps(self) -> int:
        """What a step pays for switches, beside alpha, in picoseconds."""

    def link_usage(self, src: IntArray, dst: IntArray) -> Usage:
        """Return the links that each row crosses on its way from src to dst.

        Parameters
        ----------
        src, dst
            Nodes, of shape (rows,), each from 0 to ``node_count - 1``.

        Returns
        -------
        Usage whose `Usage.circuit` is the row, `Usage.resource` the link, and
        `Usage.amount` all ones.
        """

    def link_bits_per_s(self, links: IntArray) -> IntArray:
        """Return the rate of each link in bits per second."""

    def resource_name(self, resource: int) -> str:
        """Return the link in words, for example ``egress of node 7``."""


@runtime_checkable
class BoxedFabric(Protocol):
    """What a fabric has too whose links suggest a box of its nodes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The box that the nodes form, the last digit fastest; empty for none."""

    @property
    def symmetry(self) -> tuple[int, ...]:
        """The box whose translations leave all links as they are; empty for none."""


def step_ps(fabric: Fabric) -> int:
    """Return what a step costs on a fabric before any byte moves, in picoseconds.

    Parameters
    ----------
    fabric
        Any fabric: alpha, and without circuits the latency of its switches.
    """
    latency_ps = fabric.latency_ps if isinstance(fabric, PacketFabric) else 0
    return fabric.alpha_ps + latency_ps


@dataclass(frozen=True, eq=False)
class LinkGraph:
    """Links between nodes and switches.

    Attributes
    ----------
    link
        Numbers of the links, as `PacketFabric.link_usage` has them.
    tail, head
        What each joins: nodes from 0 on, then the switches, tier by tier.
    tiers
        Name and number of the switches of each tier, the lowest first.
    """

    link: IntArray
    tail: IntArray
    head: IntArray
    tiers: tuple[tuple[str, int], ...] = ()


@runtime_checkable
class LinkedFabric(Protocol):
    """A fabric that says what its links join; others are drawn without links."""

    def link_graph(self) -> LinkGraph:
        """Return all links."""


def trunks(
    both_ways: Sequence[tuple[IntArray, IntArray, IntArray, IntArray]],
    tiers: tuple[tuple[str, int], ...],
) -> LinkGraph:
    """Return the graph of links that lead up and down again.

    Parameters
    ----------
    both_ways
        Columns: lower ends, upper ends, the links up and the links down.
    tiers
        Name and number of the switches of each tier.
    """
    columns = [np.concatenate(column) for column in zip(*both_ways, strict=True)]
    lower, upper, up, down = columns
    return LinkGraph(
        link=np.concatenate([up, down]),
        tail=np.concatenate([lower, upper]),
        head=np.concatenate([upper, lower]),
        tiers=tiers,
    )
