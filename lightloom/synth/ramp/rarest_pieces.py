"""Reduce on RAMP in pieces: a broadcast by rarest pieces first, backwards in time.

In the broadcast, which is by far the easier to think of, a node sends at most one piece
to each group in a step, and hears at most one from each *colour*, (g + j) mod m for the
larger number m of groups and racks: so pairs of a colour and a group can be matched one
by one, by assignment of who has to who lacks. Those who lack most come first, then what
fewest have. (BitTorrent's choice of pieces, Cohen 2003, in steps.) In the last step the
rest is divided evenly among the circuits that lead to who lacks it. With x groups no
more than (x + 1)^s nodes have heard anything after s steps: 125 of 128 after three, and
of all m pieces all have heard after m / x + 3 steps, where the root alone needs m / x;
or nearly all, for many pieces.

Backwards each node adds up what it hears of a piece, then passes it on. Circuits are
turned round, and lead to one transceiver from each group: with transceiver (group of
the source + colour of the destination) mod m no two collide at an end, and in a subnet
meet destinations of one number, in different racks and so of different colours.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import product
from math import isqrt
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.schedule import Op, Segment, StepPart, Transfers
from lightloom.core.seed import seeded_random
from lightloom.core.units import transmission_ps
from lightloom.plans.plan import Partition
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.ramp.node_box import NodeBox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    import numpy.typing as npt

    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ramp import Ramp

_LATE = 3
"""Steps beyond those that the root needs, about."""
_MOST_CELLS = 2**18
"""Largest product of nodes and pieces."""
_NEARLY = 8
"""Pieces that nodes lack on average where a longer last step is tried."""
_SHARES = 4
"""Equal shares of a piece, in which the last step is divided."""
_TRIALS, _WORK = 8, 2**14
"""Trials for a number of pieces, fewer where the product of nodes and pieces is large;
and the product beyond which no other number of pieces is tried."""
_MOST_MATCHED = 64
"""Nodes that are matched at once."""
_NOISE = 0.01
"""Weight of chance in what a message is worth: it decides between nearly equal ones
only."""
_PRIMES = (7919, 104_729, 1_299_709)
"""Factors that mix row, column and turn without order."""
_MODULUS = 2_147_483_647
"""A prime, 2**31 - 1."""


@dataclass(frozen=True, eq=False)
class PieceSteps:
    """A reduce, told as the broadcast that it is backwards: who hears what from whom.

    `collective`: the reduce, its chunk count chosen. `parts`: into how many parts the
    buffer is cut. `pieces`: of `parts` divided by shares. `moves`: for each step places
    that send and hear, and the first part and the end of what they do, shape (4, rows).
    """

    box: NodeBox
    collective: Collective
    parts: int
    moves: tuple[IntArray, ...]

    @property
    def pieces(self) -> int:
        """How many pieces there are."""
        return self.parts // _SHARES

    def events(self) -> Iterator[Segment | StepPart]:
        """Yield segments and steps of the reduce: all of it backwards."""
        cut, box = Partition(self.parts, self.collective.chunk_count), self.box
        for index, (here, there, first, end) in enumerate(reversed(self.moves)):
            pairs = np.unique(here * len(box) + there)
            yield Segment(0, index, _circuits(box, *np.divmod(pairs, len(box))))
            lo, hi = cut.boundary(first), cut.boundary(end)
            some = hi > lo
            src, dst = box.nodes[there[some]], box.nodes[here[some]]
            op = np.full(len(src), int(Op.REDUCE), dtype=np.int64)
            yield StepPart(index, 0, index, Transfers(src, dst, lo[some], hi[some], op))


def _places(box: NodeBox) -> int:
    """Return in how many places transceivers stand."""
    return max(box.groups, box.racks)


def _circuits(box: NodeBox, here: IntArray, there: IntArray) -> Circuits:
    """Return the circuits of pairs of a broadcast, turned round."""
    count = box.fabric.groups // _places(box)
    group = box.coordinates(there)[0]
    place = (group + _colours(box)[here]) % _places(box)
    used = place[:, None] * count + np.arange(count)
    src, dst = (np.repeat(box.nodes[end], count) for end in (there, here))
    return Circuits(src, dst, transceiver=used.reshape(-1))


def _colours(box: NodeBox) -> IntArray:
    """Return the colour of each place."""
    group, rack, _ = box.coordinates(np.arange(len(box), dtype=np.int64))
    colour: IntArray = (group + rack) % _places(box)
    return colour


def piece_steps(box: NodeBox, task: Collective) -> PieceSteps | None:
    """Return the steps that bring a buffer to all, of the best number of pieces.

    Of m pieces a transceiver of the root sends m / x, each for B x / (m R).

    Returns ``None`` where the nodes are too many.

    Deterministic.
    """
    fabric, ports = box.fabric, box.groups
    most = _MOST_CELLS // (len(box) * ports)
    if not most or len(box) < 2:
        return None
    size_ps = transmission_ps(task.buffer_bytes, fabric.node_bits_per_s)
    each = max(1, isqrt(_LATE * size_ps // max(fabric.alpha_ps, 1)))
    below = 1 << (each.bit_length() - 1)
    root = int(np.searchsorted(box.nodes, task.nodes[task.root_rank]))
    rate = fabric.groups // _places(box) * fabric.transceiver_bits_per_s
    best: tuple[int, PieceSteps] | None = None
    few = len(box) * each * ports <= _WORK
    for near in sorted({1, below, each, each + 1, 2 * below} if few else {each}):
        parts = min(near, most) * ports * _SHARES
        chunked = choose_chunks(task, parts)
        largest = -(-chunked.chunk_count // parts) * chunked.chunk_bytes
        share_ps = transmission_ps(largest, rate)
        sizes = (box.groups, box.racks, box.numbers)
        time_ps, moves = _found(fabric, sizes, root, parts // _SHARES, share_ps)
        if best is None or time_ps < best[0]:
            best = time_ps, PieceSteps(box, chunked, parts, moves)
    assert best is not None
    return best[1]


_Found = tuple[int, tuple["IntArray", ...]]
"""How long steps take, in picoseconds, and moves."""


@functools.lru_cache(maxsize=64)
def _found(
    fabric: Ramp, sizes: tuple[int, int, int], root: int, pieces: int, share_ps: int
) -> _Found:
    """Return the fastest steps in a box of these sizes, for the time of a share."""
    groups, racks, numbers = sizes
    nodes = np.arange(groups * racks * numbers, dtype=np.int64)
    box = NodeBox(fabric, groups, racks, numbers, nodes)
    trials = max(1, min(_TRIALS, _WORK // (len(box) * pieces)))
    found = [_Swarm(box, root, pieces, seed).run(share_ps) for seed in range(trials)]
    return min(found, key=itemgetter(0))


class _Swarm:
    """A broadcast that goes on step by step.

    `seed`: of all that is settled by chance.
    """

    def __init__(self, box: NodeBox, root: int, pieces: int, seed: int) -> None:
        self._random: Random = seeded_random(seed * 10**6 + pieces)
        self._fixed_ps = box.fabric.alpha_ps + box.fabric.reconfiguration_ps
        self._have = np.zeros((len(box), pieces), dtype=np.bool_)
        self._have[root] = True
        self._count = np.ones(pieces, dtype=np.int64)
        colour = _colours(box)
        group = box.coordinates(np.arange(len(box), dtype=np.int64))[0]
        self._senders = [np.flatnonzero(colour == c) for c in range(_places(box))]
        self._hearers = [np.flatnonzero(group == g) for g in range(box.groups)]

    def run(self, share_ps: int) -> _Found:
        """Return moves until all have all pieces, those that end soonest."""
        step_ps = self._fixed_ps + _SHARES * share_ps
        moves: list[IntArray] = []
        best: _Found | None = None
        while not self._have.all():
            if best is not None and (len(moves) + 1) * step_ps >= best[0]:
                break
            before = self._have
            src, dst, piece, spare = self._step()
            # All that is left in this step, as long as it has to be.
            last = _last_step(
                before, np.append(src, spare[0]), np.append(dst, spare[1])
            )
            if last is not None:
                busiest, ends = last
                time_ps = len(moves) * step_ps + self._fixed_ps + busiest * share_ps
                if best is None or time_ps < best[0]:
                    best = time_ps, (*moves, ends)
            first = piece * _SHARES
            moves.append(np.stack([src, dst, first, first + _SHARES]))
        assert best is not None
        return best

    def _step(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Return who hears which piece from whom; all then have what they heard.

        Where the step may be the last one, pairs of those who are left over, too, of
        whom one lacks what the other has.
        """
        heard = self._have.copy()
        nearly = (~heard).sum(axis=1).mean() <= _NEARLY
        blocks = list(product(self._senders, self._hearers))
        self._random.shuffle(blocks)
        none = np.zeros((3, 0), dtype=np.int64)
        rows, spare = [none], [none[:2]]
        for senders, hearers in blocks:
            some, others = senders, hearers
            for src, dst in self._matched(senders, hearers, heard):
                turn = self._random.randrange(2**20)
                piece = _rarest(self._have[src] & ~heard[dst], self._count, turn)
                heard[dst, piece] = True
                self._count += np.bincount(piece, minlength=len(self._count))
                rows.append(np.stack([src, dst, piece]))
                some, others = np.setdiff1d(some, src), np.setdiff1d(others, dst)
            if nearly and len(some) and len(others):
                spare += map(np.stack, self._matched(some, others, self._have))
        self._have = heard
        src, dst, piece = np.hstack(rows)
        return src, dst, piece, np.hstack(spare)

    def _matched(
        self, senders: IntArray, hearers: IntArray, heard: npt.NDArray[np.bool_]
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield who can hear something new from whom, each at most once."""
        from scipy.optimize import linear_sum_assignment

        parts = -(-max(len(senders), len(hearers)) // _MOST_MATCHED)
        turn = self._random.randrange(parts)
        for number in range(parts):
            some = senders[number::parts]
            others = hearers[(number + turn) % parts :: parts]
            gain = self._gain(some, others, heard)
            row, column = linear_sum_assignment(gain, maximize=True)
            new = gain[row, column] > 0
            if new.any():
                yield some[row[new]], others[column[new]]

    def _gain(
        self, senders: IntArray, hearers: IntArray, heard: npt.NDArray[np.bool_]
    ) -> FloatArray:
        """Return what it is worth that one hears from another, 0 if nothing is new."""
        have, lack = self._have[senders].astype(float), (~heard[hearers]).astype(float)
        rare = (self._count.min() / self._count) ** 2
        # Not by BLAS, whose threads cost more than such small products.
        new = np.einsum("ip,jp->ij", have, lack)
        worth = np.einsum("ip,jp->ij", have * rare, lack) / np.maximum(new, 1)
        chance = _mixed(senders, hearers, self._random.randrange(2**20)) / _MODULUS
        gain: FloatArray = (new > 0) * (1 + lack.mean(axis=1) + worth + _NOISE * chance)
        return gain


def _last_step(
    have: npt.NDArray[np.bool_], src: IntArray, dst: IntArray
) -> tuple[int, IntArray] | None:
    """Return how circuits can bring to all what they lack: as evenly as shares allow.

    `have`: what places have, shape (places, pieces). `src`, `dst`: places that circuits
    join, shape (circuits,).

    Returns shares of the busiest circuit, and moves; ``None`` where some lack much, or
    what those who send to them do not have.
    """
    lacking = (~have).sum(axis=1)
    if lacking.mean() > _NEARLY:
        return None
    order = np.argsort(dst, kind="stable")
    source = np.split(src[order], np.searchsorted(dst[order], np.arange(1, len(have))))
    busiest, rows = 0, []
    for place in np.flatnonzero(lacking).tolist():
        piece = np.flatnonzero(~have[place])
        shares = _shares(have[source[place]][:, piece])
        if shares is None:
            return None
        busiest = max(busiest, int(shares.sum(axis=1).max()))
        begin = piece * _SHARES + np.cumsum(shares, axis=0) - shares
        way, what = np.nonzero(shares)
        ends = (source[place][way], np.full(len(way), place))
        first = begin[way, what]
        rows.append(np.stack([*ends, first, first + shares[way, what]]))
    return busiest, np.hstack(rows)


def _shares(able: npt.NDArray[np.bool_]) -> IntArray | None:
    """Return how many shares of each piece each circuit brings, as even as can be.

    `able`: whether its source has the piece, shape (circuits, pieces).

    Returns of the same shape; ``None`` where no source has some piece.
    """
    from scipy.optimize import linear_sum_assignment

    circuits, pieces = able.shape
    if not able.any(axis=0).all():
        return None
    wanted = np.repeat(np.arange(pieces), _SHARES)
    most = -(-len(wanted) // circuits)
    while True:
        bearer = np.repeat(np.arange(circuits), most)
        row, column = linear_sum_assignment(~able[bearer][:, wanted])
        bearers, borne = bearer[row], wanted[column]
        if able[bearers, borne].all():
            shares = np.zeros(able.shape, dtype=np.int64)
            np.add.at(shares, (bearers, borne), 1)
            return shares
        most += 1


def _rarest(able: npt.NDArray[np.bool_], count: IntArray, turn: int) -> IntArray:
    """Return the rarest piece that each row can have, which has one.

    `able`: whether it can, shape (rows, pieces). `turn`: settles ties, otherwise in
    every row.
    """
    row, column = (np.arange(size, dtype=np.int64) for size in able.shape)
    score = count * 2**31 + _mixed(row, column, turn)
    piece: IntArray = np.where(able, score, 2**62).argmin(axis=1)
    return piece


def _mixed(row: IntArray, column: IntArray, turn: int) -> IntArray:
    """Return numbers below `_MODULUS` without order, one for each row and column."""
    first, second, third = _PRIMES
    mixed: IntArray = (row[:, None] * first + column * second + turn) * third % _MODULUS
    return mixed
