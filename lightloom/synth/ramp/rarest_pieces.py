"""Reduce on RAMP in pieces: a broadcast by rarest pieces first, backwards in time.

In the broadcast, which is by far the easier to think of, every step has another random
shift, over each of whose circuits one piece goes. The nodes take in turn, offset after
offset of the groups, what they lack and the source has, of these the piece that fewest
have. (BitTorrent's choice of pieces, Cohen 2003, in steps; `RarestFirst` of the
catalogue does so on links that stay.) On 128 nodes all have m pieces after m / x + 5
steps or one less, where the root alone needs m / x; shifts cost a nanosecond each.

Backwards each node adds up what it hears of a piece, then passes it on.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from math import isqrt
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.schedule import Op, Segment, StepPart, Transfers
from lightloom.core.seed import seeded_random
from lightloom.core.units import transmission_ps
from lightloom.plans.partition import Partition
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.ramp.node_box import NodeBox
from lightloom.synth.ramp.spread_trees import random_shift

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.synth.ramp.node_box import Shift

_LATE = 5
"""Steps beyond those that the root needs, about."""
_MOST_CELLS = 2**18
"""Largest product of nodes and pieces."""
_NEARLY = 8
"""Pieces that nodes lack on average where a longer last step is tried."""
_TRIALS, _WORK = 6, 2**14
_PRIMES = (7919, 104_729, 1_299_709)


@dataclass(frozen=True, eq=False)
class PieceSteps:
    """Who hears which piece from whom, step by step, in a box with the root at 0.

    Attributes
    ----------
    box
        Who takes part.
    parts
        How many pieces there are.
    shifts
        One a step.
    moves
        For each step sources, destinations and pieces, shape (3, rows).
    """

    box: NodeBox
    parts: int
    shifts: tuple[Shift, ...]
    moves: tuple[IntArray, ...]

    def events(self, task: Collective) -> Iterator[Segment | StepPart]:
        """Yield segments and steps of a reduce: all of it backwards.

        Parameters
        ----------
        task
            Its chunk count chosen.
        """
        cut = Partition(self.parts, task.chunk_count)
        nodes, root = self.box.nodes, task.nodes[task.root_rank]
        start = int(np.searchsorted(nodes, root))
        backwards = zip(reversed(self.shifts), reversed(self.moves), strict=True)
        for index, (shift, (here, there, piece)) in enumerate(backwards):
            yield Segment(0, index, shift.reversed(self.box).circuits(self.box))
            src = nodes[self.box.moved(there, start)]
            dst = nodes[self.box.moved(here, start)]
            lo, hi = cut.boundary(piece), cut.boundary(piece + 1)
            some = hi > lo
            columns = (src[some], dst[some], lo[some], hi[some])
            op = np.full(len(columns[0]), int(Op.REDUCE), dtype=np.int64)
            yield StepPart(index, 0, index, Transfers(*columns, op))


def piece_steps(box: NodeBox, task: Collective) -> PieceSteps | None:
    """Return the steps that bring a buffer to all, of the best number of pieces.

    Of m pieces a transceiver of the root sends m / x, each for B x / (m R).

    Parameters
    ----------
    box
        Who takes part.
    task
        Its buffer counts, and its chunks if they are chosen.

    Returns
    -------
    ``None`` where the nodes are too many.

    Notes
    -----
    Deterministic.
    """
    fabric, ports = box.fabric, box.groups
    most = _MOST_CELLS // (len(box) * ports)
    if not most or len(box) < 2:
        return None
    size_ps = transmission_ps(task.buffer_bytes, fabric.node_bits_per_s)
    each = max(1, isqrt(_LATE * size_ps // max(fabric.alpha_ps, 1)))
    below = 1 << (each.bit_length() - 1)
    best: tuple[int, PieceSteps] | None = None
    for near in sorted({1, below, each, 2 * below}):
        pieces = min(near, most) * ports
        chunked = choose_chunks(task, pieces)
        largest = -(-chunked.chunk_count // pieces) * chunked.chunk_bytes
        piece_ps = transmission_ps(largest, fabric.transceiver_bits_per_s)
        time_ps, shifts, moves = _found(
            *(fabric, box.groups, box.racks, box.numbers, pieces, piece_ps)
        )
        if best is None or time_ps < best[0]:
            best = time_ps, PieceSteps(box, pieces, shifts, moves)
    assert best is not None
    return best[1]


_Found = tuple[int, tuple["Shift", ...], tuple["IntArray", ...]]
"""How long steps take, in picoseconds, shifts, and moves."""


@functools.lru_cache(maxsize=64)
def _found(
    fabric: Ramp, groups: int, racks: int, numbers: int, pieces: int, piece_ps: int
) -> _Found:
    """Return the fastest steps in a box of these sizes."""
    nodes = np.arange(groups * racks * numbers, dtype=np.int64)
    box = NodeBox(fabric, groups, racks, numbers, nodes)
    trials = max(1, min(_TRIALS, _WORK // (len(box) * pieces)))
    found = (_trial(box, pieces, piece_ps, seed) for seed in range(trials))
    return min(found, key=itemgetter(0))


def _trial(box: NodeBox, pieces: int, piece_ps: int, seed: int) -> _Found:
    """Return shifts and moves until all have all pieces, those that end soonest.

    The last step is as long as it takes: its circuits may carry several pieces.
    """
    random = seeded_random(seed * 10**6 + pieces)
    have = np.zeros((len(box), pieces), dtype=np.bool_)
    have[0] = True
    count = np.ones(pieces, dtype=np.int64)
    shifts: list[Shift] = []
    moves: list[IntArray] = []
    best: _Found | None = None
    alpha_ps = box.fabric.alpha_ps + box.fabric.reconfiguration_ps
    while not have.all():
        time_ps = len(shifts) * (alpha_ps + piece_ps) + alpha_ps
        if best is not None and time_ps + piece_ps >= best[0]:
            break
        shifts.append(random_shift(box, random, len(shifts)))
        heard = have.copy()
        moved = _passed(shifts[-1], box, have, heard, count, random)
        moves.append(moved)
        last, passes, whole = [moved], 1, heard
        if not heard.all() and len(have) * pieces - heard.sum() <= _NEARLY * len(have):
            whole, more = heard.copy(), count.copy()
            while last[-1].size and not whole.all():
                last.append(_passed(shifts[-1], box, have, whole, more, random))
                passes += 1
        if whole.all() and (best is None or time_ps + passes * piece_ps < best[0]):
            ends = (*moves[:-1], np.hstack(last))
            best = (time_ps + passes * piece_ps, tuple(shifts), ends)
        have = heard
    assert best is not None
    return best


def _passed(
    shift: Shift,
    box: NodeBox,
    have: npt.NDArray[np.bool_],
    heard: npt.NDArray[np.bool_],
    count: IntArray,
    random: Random,
) -> IntArray:
    """Return what circuits carry, one piece each; bring `heard` and `count` up to date.

    Parameters
    ----------
    shift
        The circuits.
    box
        Who takes part.
    have, heard
        What sources have, and what is known with what was heard, shape (places,
        pieces).
    count
        How many have heard of each piece.
    random
        Source of randomness.
    """
    places = np.arange(len(box), dtype=np.int64)
    offsets = shift.displacements(box)[shift.lit].tolist()
    random.shuffle(offsets)
    rows = []
    for by in offsets:
        src = box.moved(places, box.opposite(np.array(by)))
        piece = _rarest(have[src] & ~heard, count, random.randrange(2**20))
        dst = np.flatnonzero(piece >= 0)
        heard[dst, piece[dst]] = True
        count += np.bincount(piece[dst], minlength=len(count))
        rows.append(np.stack([src[dst], dst, piece[dst]]))
    return np.hstack(rows)


def _rarest(able: npt.NDArray[np.bool_], count: IntArray, turn: int) -> IntArray:
    """Return the rarest piece that each place can hear, -1 where there is none.

    Parameters
    ----------
    able
        Whether it can, shape (places, pieces).
    count
        How many have each piece.
    turn
        Settles ties, otherwise at every place.
    """
    row = np.arange(able.shape[0], dtype=np.int64)[:, None]
    column = np.arange(able.shape[1], dtype=np.int64)
    first, second, third = _PRIMES
    mixed = (row * first + column * second + turn) * third % 2_147_483_647
    score = count * 2**31 + mixed
    score = np.where(able, score, 2**62)
    piece: IntArray = score.argmin(axis=1)
    return np.where(able[row[:, 0], piece], piece, -1)
