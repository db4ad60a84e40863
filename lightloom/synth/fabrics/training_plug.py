"""How trainings use one kind of fabric: circuits that are kept, places of replicas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lightloom.core.circuit import Circuits
    from lightloom.core.task import Demand
    from lightloom.instances.jobs import Blocks


FabricT = TypeVar("FabricT")

PlaneCircuits: TypeAlias = "dict[int, Circuits]"
"""What planes are to hold, by plane."""


def _none_coarser(_fabric: object, _demand: Demand) -> tuple[PlaneCircuits, ...]:
    """Return nothing: light paths of this kind of fabric are not bundled."""
    return ()


@dataclass(frozen=True)
class TrainingCircuits(Generic[FabricT]):
    """How the circuits of a training are set on one kind of fabric.

    All of it is deterministic. Circuits are such that the slowest pair has as many of
    them a byte as can be, or as are found.

    `ports`: how many partners a node may have at once, 1 or more. `lasting`: circuits
    for a whole iteration (SiP-ML, section 3.3): each pair of a demand has one at least.
    Raises `InfeasibleError` where that cannot be, and `NoAnswerError` where none were
    found. `estimated`: the same for estimates: quickly, and perhaps such that their
    rates mean something and their wavelengths and routes do not. `following`: circuits
    for the traffic of a period: pairs that find no light wait, those with less to send
    first. `period_ps`: from one setting of circuits to the next one, unless somebody
    says otherwise. `others`: other ways to find what `following` does, by name, each
    with objectives of its own. `coarser`: circuits for a whole iteration, as of a
    fabric with fewer, faster light paths: several always go together. Finer ones follow
    the bytes more closely, which is not always faster.
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


@dataclass(frozen=True)
class Rows:
    """Rows of nodes on which the replicas of a training stand.

    Node ``r * cols + c`` is in place c of row r. Nodes are joined where they differ
    along one axis.

    `axes`: lengths of the axes that number the rows, the outermost first. `any_rows`:
    whether a training may have some rows, whichever they are, rather than all.
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

    `alike`: ``alike(fabric, devices)`` returns the fabric of the same kind on which a
    few replicas do at the same times what all do on `fabric` when they fill it, or
    ``None``. It may have more nodes than `fabric`. `idle_alike`: ``idle_alike(fabric,
    nodes)`` returns whether that holds too where replicas are on the first `nodes`
    nodes, and the others stay idle. `rows`: the rows of a fabric on which replicas
    stand; ``None`` where any nodes serve. `ring`: whether node 0 follows the last node,
    and light reaches only the nearest. `blocks`: whether the nodes of a job have to lie
    in one block.
    """

    alike: Callable[[FabricT, int], FabricT | None] = _no_smaller_fabric
    idle_alike: Callable[[FabricT, int], bool] = _not_beside_idle_nodes
    rows: Callable[[FabricT], Rows] | None = None
    ring: bool = False
    blocks: Blocks = "preferred"
