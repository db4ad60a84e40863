"""Algorithms that fit their rounds to the links between ranks."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from lightloom.plans.algorithms import CollectiveAlgorithm, require_op
from lightloom.plans.plan import Plan
from lightloom.plans.rank_network import RankNetwork

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round

_FINENESS = 2**14


class NetworkAlgorithm(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """A collective algorithm whose rounds follow from a network of the ranks.

    `plan` serves ranks that all send and receive at one rate.
    """

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return enough chunks a rank for parts of any size."""
        del ports
        return ranks * _FINENESS

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds on the network of ranks that are all alike."""
        del ports
        return self._fitted(collective, RankNetwork.full(collective.rank_count))

    def plan_on(self, collective: Collective, network: RankNetwork) -> Plan:
        """Return the rounds on a network.

        Parameters
        ----------
        collective
            What is to be done: one of `ops`, with its root and its chunk count
            chosen.
        network
            Of its ranks.

        Raises
        ------
        InputError
            If the operation is not one of `ops`, or the algorithm needs ranks that
            look alike and the network has no shape.
        """
        require_op(self, collective)
        if collective.rank_count == 1:
            return Plan(collective, ())
        return Plan(collective, tuple(self._fitted(collective, network)))

    @abstractmethod
    def _fitted(self, collective: Collective, network: RankNetwork) -> Sequence[Round]:
        """Return the rounds of two ranks or more on a network."""


class Fitted(CollectiveAlgorithm, frozen=True):
    """An algorithm on the network that it is fitted to: no record of a catalogue."""

    algorithm: NetworkAlgorithm
    network: RankNetwork

    @property
    def ops(self) -> tuple[str, ...]:
        """See `NetworkAlgorithm`."""
        return self.algorithm.ops

    def _chunks(self, ranks: int, ports: int) -> int:
        return self.algorithm.granularity(ranks, ports)

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; the network says what ranks drive at once."""
        del ports
        return self.algorithm.plan_on(collective, self.network).rounds
