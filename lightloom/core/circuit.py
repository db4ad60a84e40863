"""Circuits as columns: the rows of a segment."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from lightloom.core.columns import Ragged
from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lightloom.core.columns import IntArray

ALONE = -1
"""What `Circuits.multicast` says of a circuit with one destination."""


@dataclass(frozen=True)
class CircuitColumn:
    """What is true of one column of `Circuits` beside src and dst.

    Reading, writing, checking, joining and comparing circuits follow from it.

    Attributes
    ----------
    name
        Its name, in memory and in files.
    ragged
        Whether a circuit has a list of integers in it rather than one.
    each
        Whether each integer of the list is a light path of its own.
    by_source
        Whether a source gives it: rows of one multicast circuit agree in it.
    optional
        Whether a segment may leave it out on a fabric that has it. Light paths that
        differ in nothing else are the same.
    since
        First version of the schedule file that has it.
    """

    name: str
    ragged: bool = False
    each: bool = False
    by_source: bool = False
    optional: bool = False
    since: int = 1


@dataclass(frozen=True, eq=False)
class Circuits:
    """Light paths of one plane; row i is one circuit.

    A new column is one field here, with the metadata of its `CircuitColumn`.

    Attributes
    ----------
    src, dst
        End nodes, shape (circuits,).
    wavelengths
        The wavelengths that share this row's route; ``None`` on fabrics without.
    route
        Node ids from src to dst, both included; ``None`` on fabrics without.
    direction
        Which way round a ring each circuit runs, shape (circuits,); ``None`` on
        fabrics without.
    transceiver
        Which transceiver of src sends and which of dst receives, shape (circuits,);
        ``None`` on fabrics without.
    multicast
        Rows of equal id, 0 or more, are one circuit with several destinations: what
        it sends is sent once and seen by them all, so they share src and all that
        a source gives (wavelengths, transceiver). `ALONE` marks a row by itself.
        ``None``, which says so of every row, is allowed on every fabric.
    """

    src: IntArray
    dst: IntArray
    wavelengths: Ragged | None = field(
        default=None, metadata={"ragged": True, "each": True, "by_source": True}
    )
    route: Ragged | None = field(default=None, metadata={"ragged": True})
    direction: IntArray | None = None
    transceiver: IntArray | None = field(
        default=None, metadata={"by_source": True, "since": 2}
    )
    multicast: IntArray | None = field(
        default=None, metadata={"optional": True, "since": 2}
    )

    def __len__(self) -> int:
        """Return the number of circuits."""
        return len(self.src)

    def column(self, name: str) -> IntArray:
        """Return a column of one integer a circuit, shape (circuits,).

        Parameters
        ----------
        name
            For example ``direction``.

        Raises
        ------
        InputError
            If these circuits do not have it.
        """
        found: IntArray = self._present(name)
        return found

    def lists(self, name: str) -> Ragged:
        """Return a column of a list of integers a circuit.

        Parameters
        ----------
        name
            For example ``wavelengths``.

        Raises
        ------
        InputError
            If these circuits do not have it.
        """
        found: Ragged = self._present(name)
        return found

    def _present(self, name: str) -> Any:  # noqa: ANN401, see its two callers
        values = getattr(self, name)
        if values is None:
            what = f"circuits without {name}"
            raise InputError(what, where="circuits", fix=f"give the column {name}")
        return values

    def take(self, rows: IntArray) -> Circuits:
        """Return some circuits.

        Parameters
        ----------
        rows
            Row numbers, shape (rows,), in the order wanted.
        """
        taken: dict[str, Any] = {}
        for each in COLUMNS:
            values = getattr(self, each.name)
            if values is not None:
                taken[each.name] = values.take(rows) if each.ragged else values[rows]
        return Circuits(self.src[rows], self.dst[rows], **taken)

    def transmissions(self) -> IntArray:
        """Return which transmission each row belongs to, shape (circuits,).

        Rows of one multicast circuit have the number of its first row; every other
        row has its own. What a source gives is taken once for each number.
        """
        row = np.arange(len(self), dtype=np.int64)
        if self.multicast is None:
            return row
        shared = np.flatnonzero(self.multicast != ALONE)
        _, first, member = np.unique(
            self.multicast[shared], return_index=True, return_inverse=True
        )
        row[shared] = shared[first][member]
        return row

    def same_as(self, other: Circuits) -> bool:
        """Return whether others are the same circuits, in whatever order.

        Parameters
        ----------
        other
            Of the same fabric.
        """
        if len(self) != len(other):
            return False
        return sorted(self._rows()) == sorted(other._rows())

    def _rows(self) -> Iterator[tuple[object, ...]]:
        """Yield each circuit as what its columns say of it."""
        columns = (getattr(self, each.name) for each in fields(self))
        lists = [
            column.to_lists() if isinstance(column, Ragged) else column.tolist()
            for column in columns
            if column is not None
        ]
        return zip(*lists, strict=True)


COLUMNS: tuple[CircuitColumn, ...] = tuple(
    CircuitColumn(each.name, **each.metadata)
    for each in fields(Circuits)
    if each.default is None
)
"""The columns beside src and dst, in the order of the file."""


def join_circuits(parts: Sequence[Circuits], names: Iterable[str]) -> Circuits:
    """Return circuits laid end to end.

    Parameters
    ----------
    parts
        The circuits; none is no circuits.
    names
        Columns that are kept beside src and dst; all parts have them.

    Raises
    ------
    InputError
        If a part lacks one of the columns.
    """
    kept = set(names)
    joined: dict[str, Any] = {}
    for each in COLUMNS:
        if each.name in kept and each.ragged:
            lists = [part.lists(each.name) for part in parts]
            joined[each.name] = Ragged.from_lengths(
                _end_to_end([one.lengths for one in lists]),
                _end_to_end([one.values for one in lists]),
            )
        elif each.name in kept:
            joined[each.name] = _end_to_end([part.column(each.name) for part in parts])
    return Circuits(
        _end_to_end([part.src for part in parts]),
        _end_to_end([part.dst for part in parts]),
        **joined,
    )


def _end_to_end(columns: list[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, np.int64), *columns])
