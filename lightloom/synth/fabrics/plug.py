"""The record of what synthesis and trainings have to know of one kind of fabric."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from lightloom.core.fabric import step_ps
from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.synth.auto.search_space import proposals
from lightloom.synth.demand_rounds import EDGE_COLOURING, GREEDY
from lightloom.synth.rank_mapping import GIVEN_ORDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lightloom.core.certificate import Certificate
    from lightloom.core.circuit import Circuits
    from lightloom.core.schedule import ParameterValue, Schedule
    from lightloom.core.task import Demand
    from lightloom.instances.instance import AnyFabric, Instance
    from lightloom.instances.jobs import Blocks
    from lightloom.plans.algorithms import CollectiveAlgorithm
    from lightloom.plans.plan import RoundOutline
    from lightloom.synth.auto.search_space import Proposal
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.traffic import TrafficRound

__all__ = [
    "Arrangement",
    "FabricPlug",
    "MadeSchedule",
    "PlaneCircuits",
    "Realiser",
    "Rows",
    "TrainingCircuits",
    "TrainingLayout",
]

FabricT = TypeVar("FabricT")
AnyFabricT = TypeVar("AnyFabricT", bound="AnyFabric")

PlaneCircuits: TypeAlias = "dict[int, Circuits]"
"""What planes are to hold, by plane."""


@dataclass(frozen=True)
class Arrangement:
    """Orders in which the nodes of a collective may play the ranks of an algorithm.

    Attributes
    ----------
    orders
        The nodes in each order, by its name; ``given`` comes first, is always there,
        and is the one that is predicted first.
    shape
        The box that the order ``given`` fills, the last digit fastest; empty where
        the fabric suggests none. Algorithms that need a shape take this one.
    """

    orders: Mapping[str, tuple[int, ...]]
    shape: tuple[int, ...] = ()


class Realiser(ABC, Generic[AnyFabricT]):
    """Puts the rounds of algorithms on one fabric, throughout one synthesis.

    Deterministic: a function of fabric, seed, router and arguments. What it computes
    may be kept from one candidate to the next.

    Parameters
    ----------
    fabric
        The fabric.
    seed
        Of everything random, 0 or more.
    router
        How circuits are routed over waveguides, where there is a choice:
        ``minimum-congestion`` or ``random``.

    Attributes
    ----------
    demand_algorithms
        Algorithms for demands that ``auto`` compares.
    divided_demands
        Those of them that are not made of rounds, but by `divided`.
    predicts
        Whether `least_ps` says more than the certificates of completion times do.
    """

    demand_algorithms: ClassVar[tuple[str, ...]] = (EDGE_COLOURING, GREEDY)
    divided_demands: ClassVar[tuple[str, ...]] = ()
    predicts: ClassVar[bool] = False

    def __init__(self, fabric: AnyFabricT, seed: int, router: str) -> None:
        self.fabric: AnyFabricT = fabric
        self.seed = seed
        self.router = router

    @property
    def parameters(self) -> dict[str, ParameterValue]:
        """What a schedule says beside the parameters of its algorithm."""
        return {}

    @property
    @abstractmethod
    def ports(self) -> int:
        """Peers that a node can drive at once, 1 or more."""

    @property
    def demand_ports(self) -> int:
        """Peers that a node serves at once where a demand is cut into rounds."""
        return self.ports

    def arrange(self, task: Collective) -> Arrangement:
        """Return orders of the nodes of a collective; by default the one it states.

        Raises
        ------
        InputError
            Nodes that no algorithm serves on this fabric.
        InfeasibleError
            Nodes that nothing joins.
        """
        return Arrangement({GIVEN_ORDER: task.nodes})

    def proposals(
        self, task: Collective, arrangement: Arrangement
    ) -> Iterator[Proposal]:
        """Yield the algorithms that ``auto`` compares, best guesses first.

        By default those of `lightloom.synth.auto.search_space`.

        Parameters
        ----------
        task
            The collective; its chunk count need not be chosen.
        arrangement
            What `arrange` said of its nodes; not used here, but by realisers that
            propose shapes.

        Returns
        -------
        Pairs of an algorithm's name and its parameters.
        """
        del arrangement
        in_rounds = self._in_rounds(task.buffer_bytes)
        yield from proposals(task.op, task.rank_count, self.ports, in_rounds)

    def fitted(
        self, algorithm: CollectiveAlgorithm, task: Collective
    ) -> CollectiveAlgorithm:
        """Return an algorithm as it is to be planned here; by default as it is.

        Parameters
        ----------
        algorithm
            Any.
        task
            What it is to do.
        """
        del task
        return algorithm

    def check(
        self, rounds: Sequence[TrafficRound], algorithm: str, arrangement: Arrangement
    ) -> None:
        """Raise where an algorithm sends what the fabric does not carry.

        Parameters
        ----------
        rounds
            Traffic of the algorithm, between nodes.
        algorithm
            Its name.
        arrangement
            What `arrange` said.

        Raises
        ------
        InputError
            Naming a transfer, and what would do.
        """

    def outlined_ps(self, rounds: Sequence[RoundOutline], buffer_bytes: int) -> int:
        """Return a lower bound on what `least_ps` gives, before a plan is made.

        By default 0: nothing is known. Asked only where `predicts`.

        Parameters
        ----------
        rounds
            What the rounds of an algorithm take at least.
        buffer_bytes
            The buffer of the collective.
        """
        del rounds, buffer_bytes
        return 0

    def least_ps(self, rounds: Sequence[TrafficRound], *, cuts: bool) -> int:
        """Return a lower bound on the completion time that `realise` would give.

        Asked only where `predicts`.

        Parameters
        ----------
        rounds
            Traffic in order, between nodes.
        cuts
            Whether to count waveguides and links too; without, only what nodes send
            and receive.
        """
        raise NotImplementedError

    def pieces(self, rounds: Sequence[TrafficRound]) -> int:
        """Return how many equal pieces of a chunk would be used, 1 or more.

        Several where circuits on several planes share what a pair moves. Chunks are
        then chosen finer.

        Parameters
        ----------
        rounds
            Traffic in order, between nodes.
        """
        del rounds
        return 1

    def divided(self, algorithm: str, demand: Demand) -> Iterator[Realisation]:
        """Yield segments and steps of a demand by an algorithm of the fabric's own.

        Asked only for `divided_demands`.

        Parameters
        ----------
        algorithm
            One of them.
        demand
            Bytes between pairs of nodes.
        """
        raise NotImplementedError

    @abstractmethod
    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return segments and steps that carry rounds, one step for each round.

        Parameters
        ----------
        rounds
            Traffic in order, between nodes. Transfers of a round read the state at
            its beginning.

        Raises
        ------
        InfeasibleError
            Some pair can never be lit.
        NoAnswerError
            No circuits were found.
        """

    def realise_quickly(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return the same without searches that take long, for many schedules.

        Parameters
        ----------
        rounds
            Traffic in order, between nodes.
        """
        return self.realise(rounds)

    def _in_rounds(self, size_bytes: int) -> Fraction | None:
        """Return how many rounds' fixed costs data last at a node's full rate.

        ``None`` where a round costs nothing, or nothing can be sent.
        """
        fixed_ps, rate = step_ps(self.fabric), self.fabric.node_bits_per_s
        if not fixed_ps or not rate:
            return None
        return Fraction(size_bytes * BITS_PER_BYTE * PS_PER_S, rate * fixed_ps)


@dataclass(frozen=True, eq=False)
class MadeSchedule:
    """A schedule of a synthesiser of its own.

    Attributes
    ----------
    schedule
        Without footer.
    certificates
        Bounds on other objectives than its completion time, without value.
    """

    schedule: Schedule
    certificates: tuple[Certificate, ...] = ()


@dataclass(frozen=True)
class TrainingCircuits(Generic[FabricT]):
    """How the circuits of a training are set on one kind of fabric.

    All of it is deterministic. Circuits are such that the slowest pair has as many of
    them a byte as can be, or as are found.

    Attributes
    ----------
    ports
        How many partners a node may have at once, 1 or more.
    lasting
        Circuits for a whole iteration (SiP-ML, section 3.3): each pair of a demand
        has one at least. Raises `InfeasibleError` where that cannot be, and
        `NoAnswerError` where none were found.
    estimated
        The same for estimates: quickly, and perhaps such that their rates mean
        something and their wavelengths and routes do not.
    following
        Circuits for the traffic of a period: pairs that find no light wait, those with
        less to send first.
    period_ps
        From one setting of circuits to the next one, unless somebody says otherwise.
    """

    ports: Callable[[FabricT], int]
    lasting: Callable[[FabricT, Demand], PlaneCircuits]
    estimated: Callable[[FabricT, Demand], PlaneCircuits]
    following: Callable[[FabricT, Demand], PlaneCircuits]
    period_ps: Callable[[FabricT], int]


@dataclass(frozen=True)
class Rows:
    """Rows of nodes on which the replicas of a training stand.

    Node ``r * cols + c`` is in place c of row r. Nodes are joined where they differ
    along one axis.

    Attributes
    ----------
    cols
        Nodes of a row.
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


@dataclass(frozen=True)
class TrainingLayout(Generic[FabricT]):
    """Where the replicas of a training stand on one kind of fabric.

    Attributes
    ----------
    alike
        ``alike(fabric, devices)`` returns the fabric of the same kind on which a few
        replicas do at the same times what all do on `fabric` when they fill it, or
        ``None``. It may have more nodes than `fabric`.
    rows
        The rows of a fabric on which replicas stand; ``None`` where any nodes serve.
    ring
        Whether node 0 follows the last node, and light reaches only the nearest.
    blocks
        Whether the nodes of a job have to lie in one block.
    """

    alike: Callable[[FabricT, int], FabricT | None] = _no_smaller_fabric
    rows: Callable[[FabricT], Rows] | None = None
    ring: bool = False
    blocks: Blocks = "preferred"


def _of_demands(instance: Instance, _algorithm: str) -> bool:
    """Tell whether the task is a demand."""
    return not isinstance(instance.communication, Collective)


@dataclass(frozen=True)
class FabricPlug(Generic[FabricT]):
    """How schedules are made on one kind of fabric, and how trainings use it.

    Attributes
    ----------
    name
        The kind, as in ``[fabric] kind``.
    realiser
        Makes the `Realiser` of a fabric from (fabric, seed, router): algorithms of
        the catalogue are put on its circuits. ``None`` where they cannot be.
    schedules
        ``schedules(instance, algorithm, parameters, seed)`` yields schedules of the
        fabric's own algorithms instead, of which the fastest is taken. `algorithm` is
        ``auto`` or a name; it raises `InputError` on unknown names and parameters,
        and on a task that it cannot do. Deterministic.
    own
        ``own(instance, algorithm)`` says whether `schedules` is asked where there is a
        realiser too: by default of demands.
    circuits
        How circuits are kept for a training; ``None`` on fabrics without circuits,
        and where nobody sets any.
    layout
        Where replicas of a training stand.
    """

    name: str
    realiser: Callable[[FabricT, int, str], Realiser[Any]] | None = None
    schedules: (
        Callable[
            [Instance, str, Mapping[str, object], int],
            Iterator[MadeSchedule],
        ]
        | None
    ) = None
    own: Callable[[Instance, str], bool] = _of_demands
    circuits: TrainingCircuits[FabricT] | None = None
    layout: TrainingLayout[FabricT] = field(default_factory=TrainingLayout)
