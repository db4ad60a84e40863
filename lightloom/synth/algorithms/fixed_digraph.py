"""Gossip on a fixed digraph: every round on the same few circuits of each rank."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.synth.algorithms import Entry, require_op
from lightloom.synth.algorithms.lean_trees import lean_arcs, lean_graph, lean_trees
from lightloom.synth.algorithms.reversal import reversed_rounds
from lightloom.synth.digraphs.balanced_walks import even_walks
from lightloom.synth.digraphs.cayley import Cayley
from lightloom.synth.digraphs.kautz_graph import (
    ColouredArcs,
    Digraph,
    circulant_arcs,
    kautz_arcs,
    shortest_trees,
)
from lightloom.synth.digraphs.metacyclic import Metacyclic
from lightloom.synth.partition import Partition
from lightloom.synth.plan import Plan, Round

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective


_Part: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**20)]


class FixedDigraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Blocks travel along the shortest paths of a digraph with few arcs per rank.

    With d ports, on a generalised Kautz digraph every rank is within ceil(log_d n)
    arcs of every other, so that many rounds do an all-gather or an all-to-all without
    any reconfiguration: circuits are held from the first round to the last.
    In an all-gather a rank receives every block once; in an all-to-all a block is
    sent as often as its path has arcs, at most twice where
    two rounds suffice.

    Attributes
    ----------
    degree
        Ports d; as many as the fabric allows if ``None``.
    radices
        Instead of a Kautz digraph, a circulant: arcs by every multiple of a place
        value that is one digit, in radices whose product is n or more, and by other
        steps if that is less than d. It needs more ports for as many rounds, but
        loads them evenly.
    steps
        Instead of both, a digraph in which every rank v has arcs to v s for just these
        steps s of a group; those of `even_steps` load all ports evenly.
    group
        The group of the steps as rotations, turns and twist of a `Metacyclic` group;
        the cyclic one if ``None``, so that v s is v + s modulo n: a circulant.
    lean
        1: a De Bruijn digraph, on n = q d^(D - 1) ranks with q <= d, and the trees of
        `lean_trees` instead of shortest ones, for all but all-to-all.
    """

    ops: ClassVar[tuple[str, ...]] = (
        "all-gather",
        "all-reduce",
        "all-to-all",
        "reduce-scatter",
    )

    degree: Annotated[int, msgspec.Meta(ge=1, le=2**20)] | None = None
    radices: tuple[Annotated[int, msgspec.Meta(ge=2, le=2**20)], ...] | None = None
    steps: tuple[Annotated[int, msgspec.Meta(ge=1, le=2**20)], ...] | None = None
    group: tuple[_Part, _Part, _Part] | None = None
    lean: Literal[0, 1] = 0

    def granularity(self, ranks: int, ports: int) -> int:
        """Return one chunk per block."""
        del ports
        return ranks

    def plan(self, collective: Collective, ports: int) -> Plan:
        """Return the rounds; up to n^2 rows in each."""
        require_op(self, collective)
        ranks = collective.rank_count
        if ranks == 1:
            return Plan(collective, ())
        arcs = self._arcs(ranks, ports)
        blocks = Partition(ranks, collective.chunk_count)
        there = _Paths(blocks, arcs, self._trees(arcs, ports), turned=False)
        match collective.op:
            case "all-to-all":
                rounds = there.exchange(self._walks(arcs))
            case "all-gather":
                rounds = there.gather()
            case "reduce-scatter":
                rounds = reversed_rounds(there.gather(), Op.REDUCE)
            case _:
                back = self._trees(arcs, ports, backwards=True)
                turned = _Paths(blocks, arcs, back, turned=True)
                down = reversed_rounds(turned.gather(), Op.REDUCE)
                rounds = [*down, *there.gather()]
        return Plan(collective, tuple(rounds))

    def _arcs(self, ranks: int, ports: int) -> ColouredArcs:
        """Return the digraph.

        Raises
        ------
        InputError
            If the product of the radices is less than the number of ranks, the
            steps do not lead everywhere, their group is none or of other ranks, or
            there is no De Bruijn digraph.
        """
        if self.steps is not None:
            return self._cayley(ranks).arcs()
        degree = self._degree(ranks, ports)
        if self.lean:
            found = lean_graph(ranks, degree)
            if found is None:
                raise InputError(
                    f"{ranks} ranks of {degree} ports form no De Bruijn digraph",
                    where="algorithm.degree",
                    found=degree,
                    allowed="d with n = q d^(D - 1), q from 1 to d and D at least 2",
                )
            return lean_arcs(found[0])
        if self.radices is None:
            return kautz_arcs(ranks, degree)
        if prod(self.radices) < ranks:
            raise InputError(
                f"the product of the radices is {prod(self.radices)}",
                where="algorithm.radices",
                found=list(self.radices),
                allowed=f"radices whose product is at least {ranks}",
            )
        return circulant_arcs(ranks, self.radices, degree)

    def _cayley(self, ranks: int) -> Cayley:
        """Return the digraph of the steps."""
        assert self.steps is not None
        rotations, turns, twist = self.group or (ranks, 1, 1)
        group = Metacyclic(rotations, turns, twist)
        if group.order != ranks or not group.is_sound:
            raise InputError(
                f"no group of {ranks} elements",
                where="algorithm.group",
                found=list(self.group or ()),
                allowed=f"m, q, r with m q = {ranks} and r^q = 1 modulo m",
            )
        steps = tuple(sorted({step % ranks for step in self.steps} - {0}))
        cayley = Cayley(group, steps)
        if not steps or cayley.distances().min() < 0:
            raise InputError(
                f"the steps do not lead everywhere among {ranks} ranks",
                where="algorithm.steps",
                found=list(self.steps),
                allowed="steps that generate the group",
            )
        return cayley

    def _trees(
        self, arcs: ColouredArcs, ports: int, *, backwards: bool = False
    ) -> Digraph:
        """Return the tree of every rank's block."""
        if self.steps is not None:
            return self._cayley(arcs.ranks).trees(backwards=backwards)
        found = lean_graph(arcs.ranks, self._degree(arcs.ranks, ports))
        if self.lean and found is not None:
            return lean_trees(*found, backwards=backwards)
        return shortest_trees(arcs, backwards=backwards)

    def _degree(self, ranks: int, ports: int) -> int:
        return min(ports if self.degree is None else self.degree, ranks - 1)

    def _walks(self, arcs: ColouredArcs) -> IntArray:
        """Return where the walks of an all-to-all are after each hop."""
        if self.steps is not None:
            return self._cayley(arcs.ranks).walks()
        src, dst = np.divmod(arcs.key, arcs.ranks)
        return even_walks(src, dst, shortest_trees(arcs).distance)


@dataclass(frozen=True, eq=False)
class _Paths:
    """The chosen paths of a digraph, or of the one with all arcs turned around."""

    blocks: Partition
    arcs: ColouredArcs
    digraph: Digraph
    turned: bool

    def gather(self) -> list[Round]:
        """Return the all-gather: in round t blocks reach those t arcs away."""
        distance = self.digraph.distance
        rounds = []
        for length in range(1, int(distance.max()) + 1):
            dst, block = np.nonzero((distance == length).T)
            src = self.digraph.before[block, dst]
            rounds.append(self._round(src, dst, block, 0))
        return [one for one in rounds if one is not None]

    def exchange(self, at: IntArray) -> list[Round]:
        """Return the all-to-all: in round t blocks take the t-th arc of their walk."""
        rounds = []
        for before, after in pairwise(at):
            start, end = np.nonzero(before != after)
            tail, head = before[start, end], after[start, end]
            rounds.append(self._round(tail, head, end, start))
        return [one for one in rounds if one is not None]

    def _round(
        self, src: IntArray, dst: IntArray, block: IntArray, start: IntArray | int
    ) -> Round | None:
        """Return the round that moves blocks, in an all-to-all those of `start`.

        Consecutive blocks of a pair are one row.
        """
        ranks = self.arcs.ranks
        key = ((src * ranks + dst) * ranks + start) * ranks + block
        key.sort()
        follows = key[1:] == key[:-1] + 1
        follows &= key[1:] % ranks > 0
        first = np.flatnonzero(np.concatenate([[True], ~follows]))
        length = np.diff(first, append=len(key))
        pair, block = np.divmod(key[first], ranks)
        pair, owner = np.divmod(pair, ranks)
        src, dst = np.divmod(pair, ranks)
        ends = (dst, src) if self.turned else (src, dst)
        return self.blocks.round(
            src,
            dst,
            block,
            length,
            port=self.arcs.ports_of(*ends),
            op=Op.COPY,
            base=owner * self.blocks.chunks,
        )


ALGORITHM = Entry(
    name="fixed-digraph",
    summary="fewest rounds on one configuration: a Kautz or circulant digraph",
    ops=FixedDigraph.ops,
    make=FixedDigraph,
)
