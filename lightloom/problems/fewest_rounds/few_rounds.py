"""Schedules of few rounds for the model of Algorithm 1, with a lower bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.schedule import Op, Schedule
from lightloom.core.task import Collective
from lightloom.instances.collectives import check_collective, op_of
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.problems.fewest_rounds.chunk_moves import (
    ChunkMoves,
    copies_of,
    no_moves,
    then,
    to_schedule,
    turned_around,
)
from lightloom.problems.fewest_rounds.divide_and_conquer import squares_all_gather
from lightloom.problems.fewest_rounds.greedy_forwarding import forwarded, most_tries
from lightloom.problems.fewest_rounds.planned_rounds import (
    among_roots,
    exchanging,
    planned,
    root_blocks,
    windowed,
)
from lightloom.problems.fewest_rounds.ring_all_gather import (
    direct_scatter,
    ring_all_gather,
    ring_broadcast,
    ring_step,
)
from lightloom.problems.fewest_rounds.round_bounds import RoundBound, round_bound
from lightloom.problems.fewest_rounds.slots import all_to_all_slots
from lightloom.routing.graph import capacity_by_id, check_reachable
from lightloom.routing.rectangle_cuts import straight_cuts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.instances.instance import Instance
    from lightloom.problems.fewest_rounds.chunk_moves import Mask

NAME = "rounds"
METHODS = ("auto", "divide-and-conquer")
"""How rounds may be made, the default first."""
_BOTH_WAYS = "all-reduce"
_TURNED = {
    "gather": ("scatter", Op.COPY),
    "reduce": ("broadcast", Op.REDUCE),
    "reduce-scatter": ("all-gather", Op.REDUCE),
}
_FIRST_TRIES = 8
"""Tries of forwarding before rounds are planned."""
_MOST_PLANNED = 100
"""Tiles for which rounds are planned: no more than twenty seconds, found or not."""
_RING = 2
"""Lasers up to which a ring meets the receive bound of an all-gather."""


@dataclass(frozen=True, eq=False)
class FewRounds:
    """A collective in rounds, every circuit one chunk a round, and how good it is.

    `fabric`, `collective`: the question, its chunk count chosen. `bound`: no schedule
    in this model has fewer rounds; with its witness. `method`: how the rounds were
    made.
    """

    fabric: Lightpath
    collective: Collective
    moves: ChunkMoves
    bound: RoundBound
    method: str
    seed: int

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return self.moves.round_count

    @property
    def proved(self) -> bool:
        """Whether no schedule in this model has fewer rounds."""
        return self.rounds == self.bound.rounds

    def schedule(self) -> Schedule:
        """Return the schedule, without footer: one step a round."""
        return to_schedule(
            self.fabric,
            self.collective,
            self.moves,
            name=NAME,
            parameters={"method": self.method},
            seed=self.seed,
        )


def few_rounds(
    instance: Instance,
    *,
    seed: int = 0,
    tries: int | None = None,
    method: str = METHODS[0],
) -> FewRounds:
    """Return a collective in few rounds, and a bound on their number.

    All-to-all fills slots; all-gather runs along a light ring, or hears windows of a
    ring, or is forwarded from near holders, or planned round by round; broadcast
    splits a light ring; scatter lights every laser of the root. Gather, reduce-scatter
    and reduce are these turned around. All-reduce is a reduce-scatter and an
    all-gather, which share a round of exchanges where they can.

    `method`: ``auto``, or ``divide-and-conquer`` for what an all-gather is made into.

    Raises `InputError` if the instance is not of this kind, or the method cannot do it;
    `InfeasibleError` if some tile cannot be reached, or the tiles have no lasers.
    """
    fabric, collective = _question(instance)
    if method not in METHODS:
        allowed = " or ".join(METHODS)
        raise InputError("unknown method", found=method, allowed=allowed)
    making = _Making(fabric, collective, seed, tries, method)
    moves, how = (no_moves(), "nothing to do")
    if len(collective.nodes) > 1:
        moves, how = making.made()
    bound = round_bound(fabric, collective)
    return FewRounds(fabric, collective, moves, bound, how, seed)


def _question(instance: Instance) -> tuple[Lightpath, Collective]:
    """Return fabric and collective, checked, with chunks chosen."""
    fabric, task = instance.fabric, instance.task
    if not isinstance(fabric, Lightpath):
        what, allowed = "rounds are about light paths", "lightpath"
        raise InputError(what, where="fabric.kind", found=fabric.kind, allowed=allowed)
    if not isinstance(task, Collective):
        what = "rounds move chunks of a collective"
        raise InputError(what, where=instance.name, fix="give a [collective]")
    check_collective(task, fabric.node_count)
    if task.op == _BOTH_WAYS:
        copying = msgspec.structs.replace(task, op="all-gather")
        check_collective(copying, fabric.node_count)
    if task.chunks is None:
        blocks = op_of(task).uses_blocks or task.op == _BOTH_WAYS
        chunks = task.rank_count if blocks else 1
        task = msgspec.structs.replace(task, chunks=chunks)
    if len(task.nodes) > 1:
        _check_light(fabric, task)
    return fabric, task


def _slots_across(fabric: Lightpath, nodes: tuple[int, ...]) -> int:
    """Return the slots that all pairs need to cross the grid, at least."""
    node, slots = np.array(nodes, dtype=np.int64), 0
    for inside, waveguides in straight_cuts(fabric):
        here = int(inside[node].sum())
        slots = max(slots, -(-here * (len(node) - here) // max(waveguides, 1)))
    return slots


def _check_light(fabric: Lightpath, task: Collective) -> None:
    """Raise `InfeasibleError` unless light can go from every rank to every other."""
    if not fabric.lasers:
        what = "nothing can be sent: the tiles have no lasers"
        raise InfeasibleError(what, where="fabric.lasers", found=0)
    node = np.array(task.nodes, dtype=np.int64)
    by_id = capacity_by_id(fabric, fabric.edge_waveguides(*fabric.edges()))
    src = np.concatenate([node[:-1], node[1:]])
    dst = np.concatenate([node[1:], node[:-1]])
    check_reachable(fabric, src, dst, by_id)


def _holdings(fabric: Lightpath, task: Collective, *, first: bool) -> Mask:
    """Return who has which chunk first, or must have it last: (tiles, chunks)."""
    kind = op_of(task)
    held = kind.initial(task) if first else kind.final(task)
    mask = np.zeros((fabric.node_count, kind.chunk_total(task)), dtype=np.bool_)
    for rank, lo, hi in zip(
        held.rank.tolist(), held.chunk_lo.tolist(), held.chunk_hi.tolist(), strict=True
    ):
        mask[task.nodes[rank], lo:hi] = True
    return mask


@dataclass(frozen=True, eq=False)
class _Making:
    """A question, and how it is to be answered."""

    fabric: Lightpath
    collective: Collective
    seed: int
    tries: int | None
    method: str

    def made(self) -> tuple[ChunkMoves, str]:
        """Return the moves of the collective, and how they were made."""
        op = self.collective.op
        if op == _BOTH_WAYS:
            return self._all_reduce()
        if op in _TURNED:
            other, does = _TURNED[op]
            moves, how = self._copied(other)
            return turned_around(moves, does), f"{how}, turned around"
        return self._copied(op)

    def _all_reduce(self) -> tuple[ChunkMoves, str]:
        """Return an all-gather turned around and then forward, or a round less."""
        moves, how = self._copied("all-gather")
        both = then(turned_around(moves, Op.REDUCE), moves)
        simple = self.method == METHODS[0] and self._open and self._blocks == 1
        bound = round_bound(self.fabric, self.collective).rounds
        if simple and bound < both.round_count:
            for gather, made in self._light_starts(moves, how):
                shorter = exchanging(gather, self.fabric.lasers)
                if shorter is not None and shorter.round_count < both.round_count:
                    return shorter, f"{made}, its halves exchanged"
            among = self._among_roots(bound, both.round_count)
            if among is not None:
                return among, "planned rounds, with sums exchanged among roots"
        return both, f"{how}, turned around and then forward"

    def _among_roots(self, bound: int, most: int) -> ChunkMoves | None:
        """Return an all-reduce of fewer than `most` rounds by several roots a chunk."""
        fabric, nodes = self.fabric, np.array(self.collective.nodes)
        tiles, lasers = fabric.node_count, fabric.lasers
        if len(nodes) < tiles or tiles > _MOST_PLANNED:
            return None
        for block in root_blocks(fabric):
            count = int(block[0].sum())
            rounds = -(-(tiles - count) // lasers)
            if count * (count - 1) <= lasers and bound <= 2 * rounds + 1 < most:
                found = among_roots(
                    fabric, block[:, nodes], rounds=rounds, seed=self.seed
                )
                if found is not None:
                    return found
        return None

    def _light_starts(
        self, moves: ChunkMoves, how: str
    ) -> Iterator[tuple[ChunkMoves, str]]:
        """Yield all-gathers whose first round sends little."""
        fabric, collective = self.fabric, self.collective
        yield moves, how
        count = collective.rank_count
        if count - 2 <= (moves.round_count - 1) * fabric.lasers:
            first = ring_step(fabric, collective)
            task = msgspec.structs.replace(collective, op="all-gather")
            holds, wants = (_holdings(fabric, task, first=one) for one in (True, False))
            holds[first.dst, first.chunk] = True
            bound = -(-(count - 2) // fabric.lasers)
            rest, made = self._passed_on(holds, wants, bound)
            yield then(first, rest), f"a step round a ring, then {made}"

    def _copied(self, op: str) -> tuple[ChunkMoves, str]:
        """Return the moves of an operation that copies, over the same ranks."""
        fabric, collective = self.fabric, self.collective
        if self.method != METHODS[0]:
            return self._squares(op), "divide and conquer"
        if op == "all-to-all":
            return self._all_to_all()
        if self._open:
            if op == "scatter":
                return direct_scatter(fabric, collective), "direct"
            if op == "broadcast" and collective.chunk_count == 1:
                return ring_broadcast(fabric, collective), "split ring"
            if op == "all-gather" and self._blocks == 1:
                return self._all_gather()
        return self._forwarded(op)

    @property
    def _open(self) -> bool:
        """Whether every edge has a waveguide or fibre."""
        waveguides = self.fabric.edge_waveguides(*self.fabric.edges())
        return bool((waveguides > 0).all())

    @property
    def _blocks(self) -> int:
        """Chunks of a rank's block."""
        return self.collective.chunk_count // self.collective.rank_count

    def _squares(self, op: str) -> ChunkMoves:
        if op != "all-gather" or self._blocks != 1:
            what = "divide and conquer makes all-gathers of one chunk a rank"
            raise InputError(what, where="collective", found=self.collective.op)
        return squares_all_gather(self.fabric, self.collective, seed=self.seed)

    def _forwarded(self, op: str) -> tuple[ChunkMoves, str]:
        """Return the moves of any operation that copies, and how they were made."""
        task = msgspec.structs.replace(self.collective, op=op)
        holds, wants = (
            _holdings(self.fabric, task, first=one) for one in (True, False)
        )
        return self._passed_on(holds, wants, round_bound(self.fabric, task).rounds)

    def _passed_on(
        self, holds: Mask, wants: Mask, bound: int
    ) -> tuple[ChunkMoves, str]:
        """Return moves after which all hold what they want, planned if need be."""
        fabric, seed, tries = self.fabric, self.seed, self.tries
        if tries is None:
            tries = most_tries(fabric, bound)
        for count in sorted({min(tries, _FIRST_TRIES), tries}):
            moves = forwarded(fabric, holds, wants, bound=bound, seed=seed, tries=count)
            if moves.round_count <= bound:
                break
            if count <= _FIRST_TRIES and fabric.node_count <= _MOST_PLANNED:
                found = planned(fabric, holds, wants, rounds=bound, seed=seed)
                if found is not None:
                    return found, "planned rounds"
        return moves, "forwarding"

    def _all_gather(self) -> tuple[ChunkMoves, str]:
        """Return an all-gather on a ring, or direct where that meets the bound."""
        fabric = self.fabric
        if fabric.lasers <= _RING:
            return ring_all_gather(fabric, self.collective), "ring"
        task = msgspec.structs.replace(self.collective, op="all-gather")
        rounds = round_bound(fabric, task).rounds
        most = rounds * fabric.lasers
        if _slots_across(fabric, task.nodes) <= most:
            slots = all_to_all_slots(fabric, task.nodes, seed=self.seed, effort=0)
            if slots.slot_count <= most:
                rank = np.zeros(fabric.node_count, dtype=np.int64)
                rank[np.array(task.nodes)] = np.arange(task.rank_count)
                round_, wavelength = np.divmod(slots.slot, fabric.lasers)
                chunk = rank[slots.src]
                return copies_of(round_, wavelength, chunk, slots.route), "direct"
        found = windowed(fabric, task.nodes, rounds=rounds, seed=self.seed)
        if found is not None:
            return found, "windows of a ring"
        return self._forwarded("all-gather")

    def _all_to_all(self) -> tuple[ChunkMoves, str]:
        """Return all pairs in slots, as often as a pair has chunks."""
        slots = all_to_all_slots(self.fabric, self.collective.nodes, seed=self.seed)
        rank = np.zeros(self.fabric.node_count, dtype=np.int64)
        rank[np.array(self.collective.nodes)] = np.arange(self.collective.rank_count)
        block = self._blocks
        copy: IntArray = np.repeat(np.arange(block), len(slots.src))
        rows = np.tile(np.arange(len(slots.src)), block)
        round_, wavelength = np.divmod(
            slots.slot[rows] + copy * slots.slot_count, self.fabric.lasers
        )
        chunk = rank[slots.src[rows]] * self.collective.chunk_count + copy
        chunk += rank[slots.dst[rows]] * block
        moves = copies_of(round_, wavelength, chunk, slots.route.take(rows))
        return moves, slots.method
