"""Gossip on a fixed digraph: every round on the same few circuits of each rank."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec
import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.synth.algorithms import Entry, require_op
from lightloom.synth.algorithms.even_steps import lead_everywhere, step_walks
from lightloom.synth.algorithms.even_walks import even_walks
from lightloom.synth.algorithms.kautz_graph import (
    ColouredArcs,
    Digraph,
    circulant_arcs,
    kautz_arcs,
    shortest_trees,
    step_arcs,
)
from lightloom.synth.algorithms.lean_trees import lean_arcs, lean_graph, lean_trees
from lightloom.synth.algorithms.reversal import reversed_rounds
from lightloom.synth.partition import Partition
from lightloom.synth.plan import Plan, Round

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective


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
        Instead of both, the circulant with just these steps, two of which lead
        everywhere; those of `even_steps` load all ports evenly in two rounds.
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
            If the product of the radices is less than the number of ranks, two of
            the steps do not lead everywhere, or there is no De Bruijn digraph.
        """
        if self.steps is not None:
            steps = tuple(sorted({step % ranks for step in self.steps} - {0}))
            if not lead_everywhere(ranks, steps):
                raise InputError(
                    f"two of the steps do not lead everywhere among {ranks} ranks",
                    where="algorithm.steps",
                    found=list(self.steps),
                    allowed="steps whose sums, two at a time, are all ranks",
                )
            return step_arcs(ranks, steps)
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

    def _trees(
        self, arcs: ColouredArcs, ports: int, *, backwards: bool = False
    ) -> Digraph:
        """Return the tree of every rank's block."""
        found = lean_graph(arcs.ranks, self._degree(arcs.ranks, ports))
        if self.lean and found is not None:
            return lean_trees(*found, backwards=backwards)
        return shortest_trees(arcs, backwards=backwards)

    def _degree(self, ranks: int, ports: int) -> int:
        return min(ports if self.degree is None else self.degree, ranks - 1)

    def _walks(self, arcs: ColouredArcs) -> IntArray:
        """Return where the walks of an all-to-all are after each hop."""
        src, dst = np.divmod(arcs.key, arcs.ranks)
        if self.steps is not None:
            return step_walks(arcs.ranks, tuple(dst[src == 0].tolist()))
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
            rounds.append(self._round(tail, head, end, start * self.blocks.chunks))
        return [one for one in rounds if one is not None]

    def _round(
        self, src: IntArray, dst: IntArray, block: IntArray, base: IntArray | int
    ) -> Round | None:
        """Return the round that moves blocks; consecutive ones of a pair in one row."""
        base = np.broadcast_to(np.asarray(base, dtype=np.int64), src.shape)
        order = np.lexsort((block, base, dst, src))
        src, dst, block, base = src[order], dst[order], block[order], base[order]
        same = (src[1:] == src[:-1]) & (dst[1:] == dst[:-1])
        same &= (base[1:] == base[:-1]) & (block[1:] == block[:-1] + 1)
        first = np.flatnonzero(np.concatenate([[True], ~same]))
        length = np.diff(first, append=len(src))
        ends = (dst, src) if self.turned else (src, dst)
        port = self.arcs.ports_of(ends[0][first], ends[1][first])
        return self.blocks.round(
            src[first],
            dst[first],
            block[first],
            length,
            port=port,
            op=Op.COPY,
            base=base[first],
        )


ALGORITHM = Entry(
    name="fixed-digraph",
    summary="fewest rounds on one configuration: a Kautz or circulant digraph",
    ops=FixedDigraph.ops,
    make=FixedDigraph,
)
