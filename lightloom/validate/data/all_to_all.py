"""All-to-all, item by item: who had each chunk last, in one number a chunk.

What `lightloom.validate.data.contributions` proves of any collective takes a cell for
each chunk and rank. In an all-to-all every chunk has one owner before and one after, so
following its last holder is enough, and fits millions of chunks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from lightloom.core.schedule import Op, Transfers
from lightloom.core.violation import Violation
from lightloom.validate.data.moves import expand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.core.task import Collective

MOST_ITEMS = 2**26
"""Most items that are followed for a whole schedule."""
_ITEMS_A_TRANSFER = 4
"""Items for each transfer up to which items are followed one by one: where a transfer
moves more, it is cheaper to follow ranges of chunks."""
ITEMS_AT_A_TIME = 2**17
"""About how many items are moved at a time, that they stay in the cache."""


def accepts(schedule: Schedule, collective: Collective) -> bool:
    """Return whether all items of an all-to-all are where they must be in the end.

    Transfers must be sound, each by itself. That nothing is wrong is proven; if not,
    or if there are many more items than transfers, or than `MOST_ITEMS`, nothing is.
    """
    count = collective.chunk_count * collective.rank_count
    if count > min(MOST_ITEMS, _ITEMS_A_TRANSFER * schedule.transfer_count):
        return False
    items = Items(collective, None)
    for part in schedule.parts:
        for piece in _pieces(cast("Transfers", part.transfers)):
            if any(items.move(part.index, piece)):
                return False
    return not any(items.finish())


def _pieces(moved: Transfers) -> Iterator[Transfers]:
    """Yield the rows in pieces of about `ITEMS_AT_A_TIME` items, or one row."""
    columns = (moved.src, moved.dst, moved.chunk_lo, moved.chunk_hi, moved.op)
    number = np.cumsum(moved.chunk_hi - moved.chunk_lo) // ITEMS_AT_A_TIME
    cuts = (np.flatnonzero(np.diff(number)) + 1).tolist()
    for a, b in zip([0, *cuts], [*cuts, len(moved)], strict=True):
        yield Transfers(*(column[a:b] for column in columns))


class Items:
    """Some chunks of an all-to-all, and their last holders.

    A schedule that it accepts is right about these chunks: each was always sent by who
    held it when the step was released, never into one node twice in a step, and came
    to whom it was for. It may refuse a right one, where an item goes several ways.

    `collective`: a sound all-to-all, its chunk count chosen. `chunks`: distinct chunk
    ids, sorted; all where ``None``.
    """

    def __init__(self, collective: Collective, chunks: IntArray | None) -> None:
        self._nodes = np.array(collective.nodes, dtype=np.int64)
        self._collective = collective
        chunks_each = collective.chunk_count
        if chunks is None:
            chunks = np.arange(chunks_each * collective.rank_count, dtype=np.int64)
        self.chunks = chunks
        self._all = len(chunks) == chunks_each * collective.rank_count
        self._holder = self._nodes.astype(np.int32)[chunks // chunks_each]
        self._moved = np.full(len(chunks), -1, dtype=np.int32)
        self._arriving: list[tuple[IntArray, IntArray]] = []
        self._step = -1

    def move(self, step: int, transfers: Transfers) -> Iterator[Violation]:
        """Move items; parts of a step come one after another.

        Rules ``source-holds-data``, ``write-conflict`` and ``reduce-into-nothing``.

        `step`: index of the step, not below that of the call before. `transfers`: of
        the step, each sound by itself.
        """
        if step != self._step:
            self._arrive()
            self._step = step
        lo, hi = transfers.chunk_lo, transfers.chunk_hi
        if not self._all:
            lo, hi = np.searchsorted(self.chunks, lo), np.searchsorted(self.chunks, hi)
        row, item = expand(lo, hi)
        src, dst = transfers.src[row], transfers.dst[row]
        absent = self._holder[item] != src
        yield from self._say("source-holds-data", transfers, row[absent], item[absent])
        again = self._moved[item] == step
        if (item[1:] <= item[:-1]).any():
            ordered = np.sort(item)
            again |= np.isin(item, ordered[1:][ordered[1:] == ordered[:-1]])
        yield from self._say("write-conflict", transfers, row[again], item[again])
        reduced = transfers.op[row] == Op.REDUCE
        yield from self._say(
            "reduce-into-nothing", transfers, row[reduced], item[reduced]
        )
        self._moved[item] = step
        self._arriving.append((item, dst))

    def finish(self) -> Iterator[Violation]:
        """Yield the items that did not reach whom they were for.

        Rule ``post-condition-missing``.
        """
        self._arrive()
        chunks_each, ranks = self._collective.chunk_count, self._collective.rank_count
        wanted = self._nodes[self.chunks % chunks_each // (chunks_each // ranks)]
        for item in np.flatnonzero(self._holder != wanted).tolist():
            message = (
                f"chunk {self.chunks[item]} is at node {self._holder[item]}, and for"
                f" node {wanted[item]}"
            )
            where = f"node {wanted[item]}"
            yield Violation("post-condition-missing", None, where, message)

    def _arrive(self) -> None:
        """Let the items of a step that ends be where it brought them."""
        for item, node in self._arriving:
            self._holder[item] = node
        self._arriving.clear()

    def _say(
        self, rule: str, transfers: Transfers, row: IntArray, item: IntArray
    ) -> Iterator[Violation]:
        for each, at in zip(row.tolist(), item.tolist(), strict=True):
            src, dst = transfers.src[each], transfers.dst[each]
            message = f"chunk {self.chunks[at]}, last at node {self._holder[at]}"
            where = f"row {each}, transfer {src} -> {dst}"
            yield Violation(rule, self._step, where, message)
