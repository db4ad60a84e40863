"""All-reduce by two exchanges in overlapping subspaces, which load ports evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.schedule import Op
from lightloom.plans.algorithms import AlgorithmEntry, CollectiveAlgorithm
from lightloom.plans.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.task import Collective
    from lightloom.plans.plan import Round


class OverlappingSubspaces(
    CollectiveAlgorithm, frozen=True, forbid_unknown_fields=True
):
    """Two rounds of exchange among n = 2^(2 a - 1) ranks: 8, 32, 128, ...

    As vectors of bits, let U be the span of the first a bits and V that of the last
    a: both have the bit z. A rank has circuits to those that differ by an element of U
    or V. An exchange in U and one in a complement of z in V, in any order, sum up all
    ranks, and so do V and a complement of z in U. There are 2^(a - 1) complements, in
    which every other element of V (or U) is as often as another. A part of the buffer
    for each of them, and for each order, loads the ports of all but z evenly in both
    rounds.
    """

    ops: ClassVar[tuple[str, ...]] = ("all-reduce",)

    def _chunks(self, ranks: int, ports: int) -> int:
        """Return one chunk per part."""
        del ports
        return 1 if ranks == 1 else len(subspace_parts(_bits(ranks)))

    def _rounds(self, collective: Collective, ports: int) -> Sequence[Round]:
        """Return the two rounds, of some 2^a rows for each rank and part."""
        del ports
        parts = subspace_parts(_bits(collective.rank_count))
        differences = np.unique(np.concatenate([whole for whole, _ in parts]))
        cut = Partition(len(parts), collective.chunk_count)
        rank = np.arange(collective.rank_count, dtype=np.int64)[:, None]
        made = []
        for turn in range(2):
            peers = np.concatenate([part[turn] for part in parts])
            lengths = [len(part[turn]) for part in parts]
            number = np.repeat(np.arange(len(parts), dtype=np.int64), lengths)
            port = np.searchsorted(differences, peers)
            one = cut.round(rank, rank ^ peers, number, 1, port=port, op=Op.REDUCE)
            made += [] if one is None else [one]
        return made


def overlapping_bits(ranks: int) -> int | None:
    """Return the a with n = 2^(2 a - 1), at least 2, if there is one."""
    bits = ranks.bit_length()
    return (
        bits // 2 if ranks == 1 << (bits - 1) and bits >= 4 and not bits % 2 else None
    )


def subspace_parts(bits: int) -> list[tuple[IntArray, IntArray]]:
    """Return what ranks exchange with in the first round and in the second, by part."""
    size = 1 << (bits - 1)
    shared = size
    low, high = np.arange(size), np.arange(size) << bits
    parts = []
    for rest, complemented in ((low, high), (high, low)):
        whole = np.concatenate([rest, rest | shared])[1:]
        for weights in range(size):
            parity = np.bitwise_count(np.arange(size) & weights) % 2
            complement = (complemented | parity.astype(np.int64) * shared)[1:]
            parts += [(whole, complement), (complement, whole)]
    return parts


def _bits(ranks: int) -> int:
    """Return the bits of each subspace.

    Raises `InputError` if so many ranks have no such subspaces.
    """
    bits = overlapping_bits(ranks)
    if bits is None:
        raise InputError(
            f"{ranks} ranks have no subspaces that overlap",
            where="algorithm",
            found=ranks,
            allowed="2^(2 a - 1) ranks, a at least 2: 8, 32, 128, ...",
        )
    return bits


ALGORITHM = AlgorithmEntry(
    name="overlapping-subspaces",
    summary="all-reduce in two rounds on 8, 32, 128, ... ranks, ports evenly loaded",
    ops=OverlappingSubspaces.ops,
    make=OverlappingSubspaces,
)
