"""Putting the rounds of algorithms on one kind of fabric."""

from __future__ import annotations

import functools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from lightloom.core.errors import InfeasibleError, NoAnswerError
from lightloom.core.fabric import CircuitFabric, NearCircuits, step_ps
from lightloom.instances.collectives import op_of
from lightloom.plans.network import Fitted, NetworkAlgorithm
from lightloom.plans.setting import Setting
from lightloom.synth.demand_configurations.lanes import in_turns
from lightloom.synth.demand_rounds import EDGE_COLOURING, GREEDY
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.realisation import Realisation, faster_circuits, realised_rounds
from lightloom.synth.relays.pair_lines import end_lines
from lightloom.synth.relays.relay_moves import named_parts
from lightloom.synth.relays.stages import StageSearch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Collective, Demand
    from lightloom.instances.instance import AnyFabric
    from lightloom.plans.algorithms import CollectiveAlgorithm
    from lightloom.plans.network import RankNetwork
    from lightloom.plans.plan import RoundOutline
    from lightloom.synth.demand_configurations.lanes import LaneWays
    from lightloom.synth.realisation import RoundPairs
    from lightloom.synth.relays.pair_lines import PairLines
    from lightloom.synth.relays.relay_moves import RelayMoves
    from lightloom.synth.traffic import TrafficRound


AnyFabricT = TypeVar("AnyFabricT", bound="AnyFabric")
CircuitFabricT = TypeVar("CircuitFabricT", bound=CircuitFabric)

_MOST_REALISED = 4
"""Divisions of a demand over relays for which circuits are sought, the best first:
circuits take longer to find than the divisions, which differ little after these."""


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

    def setting(self, task: Collective, arrangement: Arrangement) -> Setting:
        """Return what algorithms are told before they propose their parameters.

        By default what any fabric with circuits says; a fabric adds what it has.

        Parameters
        ----------
        task
            The collective; its chunk count need not be chosen.
        arrangement
            What `arrange` said of its nodes.
        """
        return Setting(
            op=task.op,
            ranks=task.rank_count,
            ports=self.ports,
            buffer_bytes=task.buffer_bytes,
            root=task.root_rank if op_of(task).rooted else 0,
            round_ps=step_ps(self.fabric),
            bits_per_s=self.fabric.node_bits_per_s,
            shape=arrangement.shape,
            find_network=functools.partial(self.network, task),
        )

    def network(self, task: Collective) -> RankNetwork | None:
        """Return the links between the ranks of a collective; by default none."""
        del task
        return None

    def fitted(
        self, algorithm: CollectiveAlgorithm, task: Collective
    ) -> CollectiveAlgorithm:
        """Return an algorithm as it is to be planned here: on `network` if it asks.

        Parameters
        ----------
        algorithm
            Any.
        task
            What it is to do.
        """
        if isinstance(algorithm, NetworkAlgorithm):
            network = self.network(task)
            if network is not None:
                return Fitted(algorithm, network)
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

        By default 0: nothing is known without circuits.

        Parameters
        ----------
        rounds
            Traffic in order, between nodes.
        cuts
            Whether to count waveguides and links too; without, only what nodes send
            and receive.
        """
        del rounds, cuts
        return 0

    def pieces(self, rounds: Sequence[TrafficRound]) -> int:
        """Return how many equal pieces of a chunk would be used, 1 or more.

        Several where circuits on several planes share what a pair moves. Chunks are
        then chosen finer.
        """
        del rounds
        return 1

    def divided(
        self, algorithm: str, demand: Demand, limit_ps: float = math.inf
    ) -> Iterator[Realisation]:
        """Yield segments and steps of a demand by an algorithm of the fabric's own.

        Asked only for `divided_demands`; by default configurations in turn, where
        `lane_ways` says what their circuits share. Raises `NoAnswerError` where none
        are found.

        Parameters
        ----------
        algorithm
            One of them.
        demand
            Bytes between pairs of nodes.
        limit_ps
            What the demand takes otherwise; what is no faster may be left out.
        """
        if not demand.src:
            yield Realisation((), ())
            return
        ways, found = self.lane_ways(demand), False
        if ways is not None:
            fixed_ps = float(step_ps(self.fabric) + ways.fabric.reconfiguration_ps)
            # The first reconfiguration may be free.
            limit_ps += ways.fabric.reconfiguration_ps
            for realised in in_turns(ways, fixed_ps, self.seed, limit_ps):
                found = True
                yield realised
        if not found:
            raise NoAnswerError(
                f"no {algorithm} in turn found within the limits",
                where="demand",
                found=f"{len(demand.src)} pairs",
                allowed="few enough pairs, and circuits that can be changed",
                fix=f"use --algorithm {EDGE_COLOURING}",
            )

    def lane_ways(self, demand: Demand) -> LaneWays | None:
        """Return the ways of the pairs of a demand in lanes; by default nothing.

        Parameters
        ----------
        demand
            Bytes between pairs of nodes, one pair or more.

        Raises
        ------
        InfeasibleError
            Some pair can never be lit.
        """
        del demand
        return None

    def divided_collective(
        self, task: Collective
    ) -> Iterator[tuple[Collective, Realisation]]:
        """Yield a collective, its chunks chosen, in segments and steps without rounds.

        Asked where the best of all rounds is well above the bound; by default nothing.
        """
        del task
        yield from ()

    def relayed(
        self, demand: Demand, limit_ps: float
    ) -> Iterator[tuple[Realisation, dict[str, ParameterValue]]]:
        """Yield a demand over few circuits that lead everywhere in two.

        Parameters
        ----------
        demand
            Bytes of each pair, one pair or more; it allows relays.
        limit_ps
            What it takes without relays.

        Returns
        -------
        Segments and steps, with parameters for the schedule; by default none where
        circuits join near nodes only.
        """
        fabric: object = self.fabric
        if isinstance(fabric, NearCircuits) or not isinstance(fabric, CircuitFabric):
            return
        search = StageSearch(fabric, self.ports, demand)
        best = [*search.answers(limit_ps)][-_MOST_REALISED:]
        for answer in reversed(best):
            realised = self.relay(search.moves(answer))
            if realised is not None:
                yield realised, {"steps": [*answer.stages.turns]}

    def relay(self, moves: RelayMoves, *, together: bool = True) -> Realisation | None:
        """Return moves over relays, ``None`` where no circuits are found for them.

        Parameters
        ----------
        moves
            What moves from where to where in each round, and whose bytes.
        together
            Whether a circuit has the same port in all rounds, so that it can stay.
        """
        try:
            realised = self.realise_quickly(moves.traffic(together=together))
        except (InfeasibleError, NoAnswerError):
            return None
        steps = groupby(realised.parts, lambda part: part.index)
        named = [
            named_parts([*parts], moved)
            for (_, parts), moved in zip(steps, moves.rounds, strict=True)
        ]
        return Realisation(
            realised.segments, tuple(part for own in named for part in own)
        )

    def lines(self, src: IntArray, dst: IntArray) -> list[PairLines]:
        """Return what the circuits of pairs share: by default the rates of nodes.

        Parameters
        ----------
        src, dst
            Nodes that one circuit may join, shape (pairs,).
        """
        return end_lines(src, dst, self.fabric.node_bits_per_s)

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
        """Return the same without searches that take long, for many schedules."""
        return self.realise(rounds)


class CircuitRealiser(Realiser[CircuitFabricT]):
    """Puts rounds on one plane of circuits that are found for all pairs of a segment.

    What a fabric has to say is `light`; its record says what circuits share
    (`lightloom.core.fabric.SharedWays`), and with `arrange`, `lines` and `least_ps` it
    may say more.
    """

    @property
    def ports(self) -> int:
        """Peers that a node can drive at once: by default as many as it has ports."""
        return max(1, self.fabric.ports_per_node)

    @abstractmethod
    def light(self, demand: Demand) -> Circuits:
        """Return circuits for all pairs of a demand at once, on plane 0.

        Parameters
        ----------
        demand
            Bytes of each pair, each pair once: pairs with more are to have more light.

        Returns
        -------
        Circuits, one or several for each pair.

        Raises
        ------
        InfeasibleError
            There is not enough light for all of them, or no light for some pair.
        NoAnswerError
            No circuits were found.
        """

    def light_rounds(
        self, pairs: RoundPairs, light: Callable[[Demand], Circuits]
    ) -> Circuits:
        """Return circuits for all pairs of some rounds: by default as `light` does.

        Parameters
        ----------
        pairs
            What each pair moves in each of the rounds.
        light
            The method `light`, which remembers its answers.

        Raises
        ------
        InfeasibleError, NoAnswerError
            As `light` does.
        """
        return faster_circuits(self.fabric, pairs, light)

    def parts_of(self, moved: TrafficRound) -> IntArray | None:
        """Return how to cut a round whose pairs find no light at once, by default not.

        Parameters
        ----------
        moved
            Traffic of the round.

        Returns
        -------
        Number of the part of each row, from 0, shape (rows,); ``None`` to cut its
        ports in halves, again and again, which is tried in any case.
        """
        del moved
        return None

    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return segments and steps that carry rounds: see `realised_rounds`."""
        return realised_rounds(self, rounds)
