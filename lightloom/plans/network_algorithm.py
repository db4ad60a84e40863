"""Algorithms that fit their rounds to the links between ranks."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import msgspec

from lightloom.plans.algorithms import require_op
from lightloom.plans.plan import Plan
from lightloom.plans.rank_network import RankNetwork

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round

__all__ = ["Fitted", "NetworkAlgorithm"]

_FINENESS = 2**14


class _AbstractRecord(ABCMeta, msgspec.StructMeta):
    """Records that say which methods a subclass must have."""


class NetworkAlgorithm(
    msgspec.Struct,
    metaclass=_AbstractRecord,
    frozen=True,
    forbid_unknown_fields=True,
):
    """A collective algorithm whose rounds follow from a network of the ranks."""

    ops: ClassVar[tuple[str, ...]]

    def granularity(self, ranks: int, ports: int) -> int:
        """Return enough chunks a rank for parts of any size.

        Parameters
        ----------
        ranks
            Number of ranks, at least 1.
        ports
            Peers that a rank drives at once; has no influence.
        """
        del ports
        return ranks * _FINENESS

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return the rounds where all ranks send and receive at one rate.

        Parameters
        ----------
        collective
            As of `plan_on`.
        ports
            Peers that a rank drives at once; has no influence.

        Raises
        ------
        InputError
            If the operation is not one of `ops`.
        """
        del ports
        return self.plan_on(collective, RankNetwork.full(collective.rank_count))

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
        return Plan(collective, tuple(self._rounds(collective, network)))

    @abstractmethod
    def _rounds(self, collective: Collective, network: RankNetwork) -> Sequence[Round]:
        """Return the rounds of two ranks or more."""


@dataclass(frozen=True)
class Fitted:
    """An algorithm on the network that it is fitted to."""

    algorithm: NetworkAlgorithm
    network: RankNetwork

    @property
    def ops(self) -> tuple[str, ...]:
        """See `NetworkAlgorithm`."""
        return self.algorithm.ops

    def granularity(self, ranks: int, ports: int) -> int:
        """See `NetworkAlgorithm.granularity`.

        Parameters
        ----------
        ranks, ports
            As there.
        """
        return self.algorithm.granularity(ranks, ports)

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return the rounds on the network.

        Parameters
        ----------
        collective
            What is to be done.
        ports
            Has no influence: the network says what ranks drive at once.
        """
        del ports
        return self.algorithm.plan_on(collective, self.network)
