"""Post-condition: who must hold what in the end, contributed by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.violation import Violation
from lightloom.validate.data.moves import expand

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.validate.data.moves import Moves
    from lightloom.validate.data.stored_values import DenseCells, SparseCells
    from lightloom.validate.data.values import Values

_SHOWN = 4


def check(
    state: npt.NDArray[np.int32] | DenseCells | SparseCells,
    values: Values,
    collective: Collective,
    moves: Moves,
    *,
    reduces: bool,
    atom_lo: int,
    atom_hi: int,
) -> Iterator[Violation]:
    """Yield what a block of atoms lacks, or has too much of, in the end.

    Rules ``post-condition-missing``, ``post-condition-double``,
    ``post-condition-wrong``; one violation a node, rule and run of chunks that
    share their fault.

    `state`: value ids by rank and atom, the latter from 0 to ``atom_hi - atom_lo``.
    """
    final = moves.final
    rows = np.flatnonzero((final.lo < atom_hi) & (final.hi > atom_lo))
    within, atom = expand(
        np.maximum(final.lo[rows], atom_lo) - atom_lo,
        np.minimum(final.hi[rows], atom_hi) - atom_lo,
    )
    rank = final.rank[rows][within]
    wanted = _wanted(
        values, collective, moves, reduces=reduces, atom_lo=atom_lo, atom_hi=atom_hi
    )
    found, due = state[rank, atom].astype(np.int64), wanted[atom]
    off = np.flatnonzero(found != due)
    if not len(off):
        return
    rank, atom, pair = rank[off], atom[off], found[off] << 32 | due[off]
    joined = (rank[1:] == rank[:-1]) & (atom[1:] == atom[:-1] + 1)
    joined &= pair[1:] == pair[:-1]
    starts = np.flatnonzero(np.concatenate([[True], ~joined]))
    ends = np.append(starts[1:], len(off)) - 1
    for a, b in zip(starts.tolist(), ends.tolist(), strict=True):
        node = collective.nodes[rank[a]]
        lo = int(moves.chunk_of_atom[atom[a] + atom_lo])
        hi = int(moves.chunk_of_atom[atom[b] + atom_lo + 1])
        chunks = f"chunk {lo}" if hi - lo == 1 else f"chunks {lo}:{hi}"
        has, must = int(found[off[a]]), int(due[off[a]])
        for rule, text in _faults(values, has, must, collective.nodes):
            where = f"{chunks} of node {node}"
            yield Violation(rule, None, where, f"node {node} {text} in {chunks}")


def _wanted(
    values: Values,
    collective: Collective,
    moves: Moves,
    *,
    reduces: bool,
    atom_lo: int,
    atom_hi: int,
) -> IntArray:
    """Return the value id that each atom of the block must end with."""
    width = atom_hi - atom_lo
    if reduces:
        everyone = values.intern((1 << collective.rank_count) - 1)
        return np.full(width, everyone, dtype=np.int64)
    wanted = np.zeros(width, dtype=np.int64)
    initial = moves.initial
    rows = np.flatnonzero((initial.lo < atom_hi) & (initial.hi > atom_lo))
    for row in rows.tolist():
        lo = max(int(initial.lo[row]) - atom_lo, 0)
        hi = min(int(initial.hi[row]) - atom_lo, width)
        wanted[lo:hi] = values.intern(1 << int(initial.rank[row]))
    return wanted


def _faults(
    values: Values, has: int, must: int, nodes: tuple[int, ...]
) -> Iterator[tuple[str, str]]:
    once, twice = values.masks(has)
    due, _ = values.masks(must)
    if not once:
        yield "post-condition-missing", "has nothing"
        return
    if due & ~once:
        yield (
            "post-condition-missing",
            f"lacks the contribution of node {_named(due & ~once, nodes)}",
        )
    if twice & due:
        yield (
            "post-condition-double",
            f"has more than once the contribution of node {_named(twice & due, nodes)}",
        )
    if once & ~due:
        yield (
            "post-condition-wrong",
            f"has a foreign contribution of node {_named(once & ~due, nodes)}",
        )


def _named(mask: int, nodes: tuple[int, ...]) -> str:
    """Return the first few nodes of a mask of ranks in words."""
    ranks: list[int] = []
    rest = mask
    while rest and len(ranks) < _SHOWN:
        ranks.append((rest & -rest).bit_length() - 1)
        rest &= rest - 1
    more = f" and {rest.bit_count()} more" if rest else ""
    return ", ".join(str(nodes[rank]) for rank in ranks) + more
