"""Layers and routes of the light paths of lanes, remembered for each lane."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lightloom.routing.rectangle_cuts import every_permutation_fits, rectangle_cut
from lightloom.routing.waveguide_layers import pack

if TYPE_CHECKING:
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.routing.waveguide_layers import Layers
    from lightloom.synth.traffic import Lane


class LightPaths:
    """Routes lanes on a fabric, each distinct lane once.

    A lane that fits its waveguides is one layer: one wavelength serves it. A lane
    that does not is cut into several.

    `seed`: of random choices, 0 or more.
    """

    def __init__(self, fabric: Lightpath, router: str, seed: int) -> None:
        self._fabric = fabric
        self._router = router
        self._seed = seed
        tail, head = fabric.edges()
        self._capacity = fabric.edge_waveguides(tail, head)
        self._packed: dict[bytes, Layers] = {}
        self._least: dict[bytes, int] = {}

    @cached_property
    def _roomy(self) -> bool:
        """Whether cuts prove nothing, whatever the lane."""
        return every_permutation_fits(self._fabric, self._capacity)

    def least_layers(self, lane: Lane) -> int:
        """Return a lower bound (1 or more) on the layers of a lane, not routing it."""
        key = lane.key()
        if key in self._packed:
            return self._packed[key].layer_count
        if self._roomy:
            return 1
        if key not in self._least:
            cut = rectangle_cut(
                self._fabric, lane.src, lane.dst, capacity=self._capacity
            )
            self._least[key] = max(cut.bound, 1)
        return self._least[key]

    def layers(self, lane: Lane) -> Layers:
        """Return the layers and routes of a lane.

        Raises `InfeasibleError` if some pair of it has no light path at all.
        """
        key = lane.key()
        if key not in self._packed:
            self._packed[key] = pack(
                self._fabric,
                lane.src,
                lane.dst,
                capacity=self._capacity,
                seed=self._seed,
                router=self._router,
            )
        return self._packed[key]
