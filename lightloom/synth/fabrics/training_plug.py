"""How trainings use one kind of fabric: circuits that are kept, places of replicas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from lightloom.core.fabric import CircuitFabric
from lightloom.core.units import PS_PER_US
from lightloom.replay.workload import ocs_period_ps
from lightloom.synth.demand_subsets import light_most

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lightloom.core.circuit import Circuits
    from lightloom.core.task import Demand
    from lightloom.instances.jobs import Blocks


FabricT = TypeVar("FabricT")
CircuitFabricT = TypeVar("CircuitFabricT", bound=CircuitFabric)

PlaneCircuits: TypeAlias = "dict[int, Circuits]"
"""What planes are to hold, by plane."""


def _none_coarser(_fabric: object, _demand: Demand) -> tuple[PlaneCircuits, ...]:
    """Return nothing: light paths of this kind of fabric are not bundled."""
    return ()


def every_port(fabric: CircuitFabric) -> int:
    """Return the ports of a node: so many partners it may have at once."""
    return max(1, fabric.ports_per_node)


def five_delays(fabric: CircuitFabric) -> int:
    """Return the period of optical switches, a microsecond where they take no time."""
    return ocs_period_ps(fabric) or PS_PER_US


@dataclass(frozen=True)
class TrainingCircuits(Generic[FabricT]):
    """How the circuits of a training are set on one kind of fabric.

    All of it is deterministic. Circuits are such that the slowest pair has as many of
    them a byte as can be, or as are found.

    Attributes
    ----------
    ports
        ``ports(fabric)`` returns how many partners a node may have at once, 1 or more.
    lasting
        ``lasting(fabric, demand)`` returns circuits for a whole iteration (SiP-ML,
        section 3.3): each pair of the demand has one at least. Raises
        `InfeasibleError` where that cannot be, and `NoAnswerError` where none were
        found.
    estimated
        The same for estimates: quickly, and perhaps such that their rates mean
        something and their wavelengths and routes do not.
    following
        ``following(fabric, demand)`` returns circuits for the traffic of a period:
        pairs that find no light wait, those with less to send first.
    period_ps
        ``period_ps(fabric)`` returns the time from one setting of circuits to the next
        one in picoseconds, unless somebody says otherwise.
    others
        Other ways to find what `following` does, by name, each with objectives of its
        own.
    coarser
        ``coarser(fabric, demand)`` yields circuits for a whole iteration, as of a
        fabric with fewer, faster light paths: several always go together. Finer ones
        follow the bytes more closely, which is not always faster.
    """

    ports: Callable[[FabricT], int]
    lasting: Callable[[FabricT, Demand], PlaneCircuits]
    estimated: Callable[[FabricT, Demand], PlaneCircuits]
    following: Callable[[FabricT, Demand], PlaneCircuits]
    period_ps: Callable[[FabricT], int]
    others: Mapping[str, Callable[[FabricT, Demand], PlaneCircuits]] = field(
        default_factory=dict
    )
    coarser: Callable[[FabricT, Demand], Iterable[PlaneCircuits]] = _none_coarser


def circuits_by(
    light: Callable[[CircuitFabricT, Demand], Circuits],
) -> TrainingCircuits[CircuitFabricT]:
    """Return how the circuits of a training are set where one function lights pairs.

    Parameters
    ----------
    light
        ``light(fabric, demand)`` returns circuits of plane 0 for all pairs of a demand,
        and raises `InfeasibleError` or `NoAnswerError` where there are none: what
        `CircuitRealiser.light` does.
    """

    def lasting(fabric: CircuitFabricT, demand: Demand) -> PlaneCircuits:
        return {0: light(fabric, demand)}

    def following(fabric: CircuitFabricT, demand: Demand) -> PlaneCircuits:
        return {0: light_most(lambda rows: light(fabric, rows), demand)}

    return TrainingCircuits(every_port, lasting, lasting, following, five_delays)


@dataclass(frozen=True)
class Rows:
    """Rows of nodes on which the replicas of a training stand.

    Node ``r * cols + c`` is in place c of row r. Nodes are joined where they differ
    along one axis.

    Attributes
    ----------
    cols
        Nodes of a row, 1 or more.
    axes
        Lengths of the axes that number the rows, the outermost first.
    any_rows
        Whether a training may have some rows, whichever they are, rather than all.
    """

    cols: int
    axes: tuple[int, ...]
    any_rows: bool = False


def _no_smaller_fabric(_fabric: object, _devices: int) -> None:
    """Return nothing: every replica is replayed."""


def _not_beside_idle_nodes(_fabric: object, _nodes: int) -> bool:
    """Return false: idle nodes tell replicas apart."""
    return False


@dataclass(frozen=True)
class TrainingLayout(Generic[FabricT]):
    """Where the replicas of a training stand on one kind of fabric.

    Attributes
    ----------
    alike
        ``alike(fabric, devices)`` returns the fabric of the same kind on which a few
        replicas do at the same times what all do on `fabric` when they fill it, or
        ``None``. It may have more nodes than `fabric`.
    idle_alike
        ``idle_alike(fabric, nodes)`` returns whether that holds too where replicas are
        on the first `nodes` nodes, and the others stay idle.
    rows
        ``rows(fabric)`` returns the rows on which replicas stand; ``None`` where any
        nodes serve.
    ring
        Whether node 0 follows the last node, and light reaches only the nearest.
    blocks
        Whether the nodes of a job have to lie in one block: ``any``, ``preferred`` or
        ``required``.
    """

    alike: Callable[[FabricT, int], FabricT | None] = _no_smaller_fabric
    idle_alike: Callable[[FabricT, int], bool] = _not_beside_idle_nodes
    rows: Callable[[FabricT], Rows] | None = None
    ring: bool = False
    blocks: Blocks = "preferred"
