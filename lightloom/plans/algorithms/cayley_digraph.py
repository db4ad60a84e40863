"""Gossip on a Cayley digraph: one configuration, all ports evenly loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

import msgspec

from lightloom.core.errors import InputError
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.digraphs.balanced_generators import even_steps
from lightloom.plans.digraphs.cayley import Cayley
from lightloom.plans.digraphs.metacyclic import Metacyclic
from lightloom.plans.gossip import GOSSIPS, gossip
from lightloom.plans.parameters import Count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


class CayleyDigraph(CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True):
    """Blocks travel along shortest paths; rank v has arcs to v s for a few steps s.

    As `FixedDigraph`, but ranks are elements of a group, and the digraph looks the same
    from each: with steps that lead to about as many ranks each, ports are evenly
    loaded.
    """

    ops: ClassVar[tuple[str, ...]] = GOSSIPS

    steps: Annotated[
        tuple[Count, ...] | None,
        msgspec.Meta(
            description="Steps s that generate the group. By default steps with which"
            " fewest rounds suffice and ports are evenly loaded, and their group; or 1,"
            " 2, ... where a search finds none."
        ),
    ] = None
    group: Annotated[
        tuple[Count, Count, Count] | None,
        msgspec.Meta(
            description="The group of the steps: rotations m, turns q and twist r of"
            " the pairs (a, b)(c, d) = (a + r^b c mod m, b + d mod q). By default the"
            " cyclic one, so that v s is v + s modulo the number of ranks."
        ),
    ] = None

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the rounds; up to n^2 rows in each."""
        ranks = collective.rank_count
        digraph = self._digraph(ranks, ports)
        return gossip(
            collective,
            digraph.arcs(),
            forward=digraph.trees(),
            backward=lambda: digraph.trees(backwards=True),
            walks=digraph.walks,
        )

    def _digraph(self, ranks: int, ports: int) -> Cayley:
        """Return the digraph of the steps.

        Raises
        ------
        InputError
            If the group is invalid or of other ranks, or the steps do not lead
            everywhere.
        """
        if self.steps is None:
            found = even_steps(ranks, ports) if self.group is None else None
            if found is not None:
                return found
        group = Metacyclic(*(self.group or (ranks, 1, 1)))
        if group.order != ranks or not group.is_sound:
            raise InputError(
                f"invalid group for {ranks} ranks",
                where="algorithm.group",
                found=list(self.group or ()),
                allowed=f"m, q, r with m q = {ranks} and r^q = 1 modulo m",
            )
        given = range(1, ports + 1) if self.steps is None else self.steps
        steps = tuple(sorted({step % ranks for step in given} - {0}))
        cayley = Cayley(group, steps)
        if not steps or cayley.distances().min() < 0:
            raise InputError(
                f"the steps do not lead everywhere among {ranks} ranks",
                where="algorithm.steps",
                found=list(given),
                allowed="steps that generate the group",
            )
        return cayley


ALGORITHM = AlgorithmEntry(
    name="cayley-digraph",
    summary="fewest rounds on one configuration, ports evenly loaded: steps of a group",
    ops=CayleyDigraph.ops,
    make=CayleyDigraph,
)
