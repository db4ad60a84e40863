"""Computation graphs: what a training iteration computes, and how it may be cut."""

from __future__ import annotations

import graphlib
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError, unknown_name
from lightloom.core.record import CheckedRecord
from lightloom.core.units import MOST_BYTES, MOST_PS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


SPLIT_DIMENSIONS = {
    "sample": "samples of the batch",
    "spatial": "height and width of an image, positions of a sequence",
    "channel": "output channels, columns of a matrix, heads, tables",
}
"""Dimensions that an operation may be cut along, and what they mean."""


class Split(CheckedRecord, frozen=True):
    """How an operation may be cut along one dimension, and what a part costs.

    An operation is cut into equal parts along one dimension. The tables give the cost
    of *one* part for some numbers of parts; `forward_time_ps` and its sisters give it
    for every number. Times leave the launch of a kernel out: replay adds it.

    Part j of q works on the slice j/q to (j + 1)/q of its output, along `dimension`.
    Of an input it needs the same slice, or all of it where `whole_input` is set. So
    on an edge of b bytes from an operation in p parts to one in q parts, part j of the
    second needs from each part i of the first

    - b / p, where the second has `whole_input`;
    - b times the overlap of the slices i/p to (i + 1)/p and j/q to (j + 1)/q, where
      both are cut along one dimension;
    - b / (p q), where they are cut along two.

    Parameters
    ----------
    dimension
        A key of `SPLIT_DIMENSIONS`.
    most_parts
        Most parts it may be cut into, at least the last entry of `parts`.
    whole_input
        Whether every part needs the whole input, as each output channel of a
        convolution does, and not its slice alone.
    divides_parameters
        Whether each part has a slice of the parameters; if not, each has a copy, and
        the gradients of the copies have to be summed.
    parts
        Numbers of parts in the tables, rising, the first at least 1. There is no cut
        into fewer parts than the first: it was not measured, or did not fit.
    forward_ps, backward_ps
        Time of one part in picoseconds, forward and backward, 0 to 10**15.
    memory_bytes
        Memory of one part in bytes: its parameters, gradients and optimiser state,
        and the activations it keeps for the backward pass.
    """

    dimension: str
    most_parts: int
    whole_input: bool
    divides_parameters: bool
    parts: tuple[int, ...]
    forward_ps: tuple[int, ...]
    backward_ps: tuple[int, ...]
    memory_bytes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse tables that mean nothing."""
        super().__post_init__()
        if self.dimension not in SPLIT_DIMENSIONS:
            raise unknown_name(
                "split dimension", self.dimension, SPLIT_DIMENSIONS, where="dimension"
            )
        tables = (self.forward_ps, self.backward_ps, self.memory_bytes)
        lengths = [len(self.parts), *(len(table) for table in tables)]
        if len(set(lengths)) > 1 or not self.parts:
            what = "tables of a split have one entry for each number of parts"
            raise InputError(what, where=self.dimension, found=lengths)
        rising = all(before < after for before, after in pairwise(self.parts))
        if not rising or self.parts[0] < 1 or self.parts[-1] > self.most_parts:
            what, allowed = "parts do not rise", f"1 to {self.most_parts}, rising"
            place = f"{self.dimension}.parts"
            raise InputError(what, where=place, found=self.parts, allowed=allowed)
        for name, table, most in (
            ("forward_ps", self.forward_ps, MOST_PS),
            ("backward_ps", self.backward_ps, MOST_PS),
            ("memory_bytes", self.memory_bytes, MOST_BYTES),
        ):
            _refuse_outside(table, most, f"{self.dimension}.{name}")

    @property
    def fewest_parts(self) -> int:
        """Fewest parts it may be cut into."""
        return self.parts[0]

    def forward_time_ps(self, parts: int) -> int:
        """Return the forward time of one of `parts` parts, in picoseconds.

        Between two entries of the table the cost is linear in the part's share of the
        whole, 1 / parts; past the last entry it is proportional to the share, as
        SiP-ML assumes where nothing was measured (section 4.2). Rounded up.

        Raises
        ------
        InputError
            If `parts` is not `fewest_parts` to `most_parts`.
        """
        return self._cost(self.forward_ps, parts)

    def backward_time_ps(self, parts: int) -> int:
        """Return the backward time of one part, as `forward_time_ps` does."""
        return self._cost(self.backward_ps, parts)

    def part_memory_bytes(self, parts: int) -> int:
        """Return the memory of one part, as `forward_time_ps` does its time."""
        return self._cost(self.memory_bytes, parts)

    def _cost(self, table: tuple[int, ...], parts: int) -> int:
        """Return an entry of a table, or what lies between two."""
        if not self.fewest_parts <= parts <= self.most_parts:
            what = f"cannot be cut along {self.dimension!r} into so many parts"
            allowed = f"{self.fewest_parts} to {self.most_parts}"
            raise InputError(what, found=parts, allowed=allowed)
        row = bisect_left(self.parts, parts)
        if row == len(self.parts):
            return -(-table[-1] * self.parts[-1] // parts)
        if self.parts[row] == parts:
            return table[row]
        fewer, more = self.parts[row - 1], self.parts[row]
        rest = (table[row - 1] - table[row]) * fewer * (more - parts)
        return table[row] - (-rest // (parts * (more - fewer)))


class Operation(CheckedRecord, frozen=True):
    """An operation of a computation graph: a layer, or a piece of one.

    Parameters
    ----------
    name
        Name, distinct in its graph.
    kind
        What it does, for example ``convolution``; for people.
    parameter_bytes
        Trained parameters, in bytes.
    gradient_bytes
        Gradients of the parameters that copies of the operation have to sum in every
        iteration: `parameter_bytes`, or less where only a few rows of a table change.
    output_bytes
        Activations it makes for the whole batch. They are kept until its backward
        pass; their gradient has their size.
    splits
        The ways to cut it: at least one, dimensions distinct, the one that the source
        of the numbers favours first. An operation that cannot be cut has one split
        with `most_parts` 1.
    profile
        Name under which operator profiles list operations of this shape, for example
        ``Dense_1024_1024``; empty where they list none.
    optimiser_bytes
        What the optimiser keeps of the parameters, beside a copy of them.
    """

    name: str
    kind: str
    parameter_bytes: int
    gradient_bytes: int
    output_bytes: int
    splits: tuple[Split, ...]
    profile: str = ""
    optimiser_bytes: int = 0

    def __post_init__(self) -> None:
        """Refuse sizes out of their domain and dimensions given twice."""
        super().__post_init__()
        for key in (
            "parameter_bytes",
            "gradient_bytes",
            "output_bytes",
            "optimiser_bytes",
        ):
            _refuse_outside([getattr(self, key)], MOST_BYTES, f"{self.name}.{key}")
        dimensions = [split.dimension for split in self.splits]
        if not dimensions or len(set(dimensions)) < len(dimensions):
            what = "splits have distinct dimensions, and there is one at least"
            where = f"{self.name}.splits"
            raise InputError(what, where=where, found=dimensions)

    def split(self, dimension: str) -> Split:
        """Return the split along a dimension.

        Raises
        ------
        InputError
            If the operation cannot be cut along it.
        """
        for split in self.splits:
            if split.dimension == dimension:
                return split
        what = "the operation is not split along this dimension"
        allowed = ", ".join(split.dimension for split in self.splits)
        raise InputError(what, where=self.name, found=dimension, allowed=allowed)


class ComputationGraph(CheckedRecord, frozen=True):
    """What one training iteration of a model computes, before it is cut and placed.

    Operations are rows from 0. An edge says that `dst` reads `bytes` bytes of what
    `src` makes. An iteration runs every operation forward in the order of the edges,
    then backward against them: backward, an edge carries the gradient of its tensor,
    of the same size, from dst to src, and an operation's backward pass also needs its
    own forward pass to have run.

    Parameters
    ----------
    name
        Name of the model.
    batch_size
        Samples of one iteration that the times and sizes are for.
    ops
        Operations; names are distinct.
    src, dst
        Rows of operations at the ends of each edge; pairs are distinct, and no path
        of edges comes back to where it began.
    bytes
        Size of the tensor on each edge, for the whole batch.
    provenance
        Where the numbers come from, in words: formula, GPU, measurement, file.
    """

    name: str
    batch_size: int
    ops: tuple[Operation, ...]
    src: tuple[int, ...]
    dst: tuple[int, ...]
    bytes: tuple[int, ...]
    provenance: str

    def __post_init__(self) -> None:
        """Refuse a graph that makes no sense."""
        super().__post_init__()
        if not self.ops:
            raise InputError("there is no operation", where=self.name)
        if self.batch_size < 1:
            what, place = "invalid batch size", f"{self.name}.batch_size"
            raise InputError(what, where=place, found=self.batch_size)
        if not self.provenance.strip():
            what, place = "numbers need a source", f"{self.name}.provenance"
            raise InputError(what, where=place, fix="say where they come from")
        names = [op.name for op in self.ops]
        for before, after in pairwise(sorted(names)):
            if before == after:
                what = "two operations of one name"
                raise InputError(what, where=self.name, found=before)
        lengths = [len(self.src), len(self.dst), len(self.bytes)]
        if len(set(lengths)) > 1:
            what = "the columns src, dst, bytes differ in length"
            raise InputError(what, where=self.name, found=lengths)
        _refuse_outside(self.bytes, MOST_BYTES, f"{self.name}.bytes")
        edges = list(zip(self.src, self.dst, strict=True))
        self._refuse_dangling(edges)
        refuse_cycle(names, edges, self.name)

    @property
    def parameter_bytes(self) -> int:
        """Parameters of all operations, in bytes."""
        return sum(op.parameter_bytes for op in self.ops)

    def _refuse_dangling(self, edges: list[tuple[int, int]]) -> None:
        """Raise if an edge ends nowhere, or comes twice."""
        seen: set[tuple[int, int]] = set()
        for number, edge in enumerate(edges):
            place = f"{self.name}, edge {number}"
            for row in edge:
                if not 0 <= row < len(self.ops):
                    what, allowed = "unknown operation", f"0 to {len(self.ops) - 1}"
                    raise InputError(what, where=place, found=row, allowed=allowed)
            if edge in seen:
                what, fix = "an edge of this pair was given before", "add their bytes"
                found = " -> ".join(self.ops[row].name for row in edge)
                raise InputError(what, where=place, found=found, fix=fix)
            seen.add(edge)


def _refuse_outside(values: Iterable[int], most: int, where: str) -> None:
    """Raise if a value is negative or absurd."""
    for value in values:
        if not 0 <= value <= most:
            allowed = f"0 to {most}"
            raise InputError(
                "value not allowed", where=where, found=value, allowed=allowed
            )


def refuse_cycle(
    names: Sequence[str],
    edges: Iterable[tuple[int, int]],
    where: str,
    error: type[InputError] = InputError,
) -> None:
    """Raise `error`, printing a cycle, if (source, destination) rows have one.

    Parameters
    ----------
    names
        Name of each operation; edges name its rows.
    edges
        Rows of operations: the second waits for the first.
    where
        Place of the edges, for messages.
    error
        Error class to raise.
    """
    before: dict[int, list[int]] = {row: [] for row in range(len(names))}
    for src, dst in edges:
        before[dst].append(src)
    try:
        graphlib.TopologicalSorter(before).prepare()
    except graphlib.CycleError as problem:
        found = " -> ".join(names[row] for row in problem.args[1])
        what = "operations wait for each other in a cycle"
        raise error(what, where=where, found=found) from None
