"""The occupancy of wavelengths on a ring: which are free, and for which circuits."""

from __future__ import annotations

import heapq
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.ring.arcs import RingWays


class LitRing:
    """Wavelengths of the spans, lasers and photodiodes of a ring, lit one by one.

    `fabric`, `ways`: the ring, and the ways of the pairs.

    `counts`: circuits of each pair, shape (pairs,).
    """

    def __init__(self, fabric: Ring, ways: RingWays) -> None:
        self._fabric, self._ways = fabric, ways
        nodes, colours = fabric.nodes, fabric.wavelengths
        shape = (fabric.directions, nodes, colours)
        self._spans = np.zeros(shape, dtype=np.bool_)
        self._lasers = np.zeros((nodes, colours), dtype=np.bool_)
        self._photodiodes = np.zeros((nodes, colours), dtype=np.bool_)
        self._lit: list[tuple[int, int]] = []
        self._crossed = [
            (begin + np.arange(hops)) % nodes
            for begin, hops in zip(ways.begin.tolist(), ways.hops.tolist(), strict=True)
        ]
        self._shared = fabric.transceivers < fabric.directions
        self.counts = np.zeros(len(ways.src), dtype=np.int64)

    def free(self, way: int) -> npt.NDArray[np.bool_]:
        """Return which wavelengths a way could use, shape (wavelengths,)."""
        ways = self._ways
        taken = self._spans[ways.direction[way], self._crossed[way]].any(axis=0)
        if self._shared:
            pair = ways.pair[way]
            taken |= self._lasers[ways.src[pair]]
            taken |= self._photodiodes[ways.dst[pair]]
        untaken: npt.NDArray[np.bool_] = ~taken
        return untaken

    def light(self, way: int, wavelength: int) -> None:
        """Light a way on a wavelength that is free."""
        self.light_all(np.array([way]), np.array([wavelength]))

    def light_all(self, way: IntArray, wavelength: IntArray) -> None:
        """Light ways on wavelengths that are free, shape (circuits,) both.

        `way`, `wavelength`: rows of the ways, and wavelengths from 0.
        """
        ways, nodes = self._ways, self._fabric.nodes
        hops = ways.hops[way]
        circuit = np.repeat(np.arange(len(way)), hops)
        hop = np.arange(len(circuit)) - np.repeat(np.cumsum(hops) - hops, hops)
        span = (ways.begin[way][circuit] + hop) % nodes
        before = int(np.count_nonzero(self._spans))
        self._spans[ways.direction[way][circuit], span, wavelength[circuit]] = True
        # Each span of each circuit was free, and no two of them are the same.
        assert int(np.count_nonzero(self._spans)) == before + len(circuit)
        pair = ways.pair[way]
        self._lasers[ways.src[pair], wavelength] = True
        self._photodiodes[ways.dst[pair], wavelength] = True
        self._lit += zip(way.tolist(), wavelength.tolist(), strict=True)
        np.add.at(self.counts, pair, 1)

    def fill(self) -> None:
        """Give what is free to the pair with the least circuits a byte, and so on.

        A pair without a free wavelength on its ways gets none later. O(circuits)
        looks at the spans of a pair's ways.
        """
        ways = self._ways
        sizes = ways.size_bytes.tolist()
        queue = [
            (Fraction(count, size), pair)
            for pair, (count, size) in enumerate(
                zip(self.counts.tolist(), sizes, strict=True)
            )
        ]
        heapq.heapify(queue)
        while queue:
            pair = queue[0][1]
            if self.fill_pair(pair):
                ratio = Fraction(int(self.counts[pair]), sizes[pair])
                heapq.heapreplace(queue, (ratio, pair))
            else:
                heapq.heappop(queue)

    def fill_pair(self, pair: int) -> bool:
        """Light one more circuit of a pair, the shorter way first, if there is room."""
        ways = self._ways
        first = int(ways.first[pair])
        own = range(first, first + int(ways.count[pair]))
        for way in sorted(own, key=lambda way: (int(ways.hops[way]), way)):
            free = self.free(way)
            if free.any():
                self.light(way, int(np.argmax(free)))
                return True
        return False

    def circuits(self) -> tuple[Circuits, IntArray]:
        """Return the circuits, one row a way in use, and the pair of each row."""
        ways = self._ways
        lit = np.array(sorted(self._lit), dtype=np.int64).reshape(-1, 2)
        used, width = np.unique(lit[:, 0], return_counts=True)
        pair = ways.pair[used]
        circuits = Circuits(
            ways.src[pair],
            ways.dst[pair],
            Ragged.from_lengths(width, lit[:, 1].copy()),
            direction=ways.direction[used],
        )
        return circuits, pair
