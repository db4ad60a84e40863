"""The nearest tile of some set, over edges that have room."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from lightloom.instances.fabrics.lightpath import Lightpath


class NearestHolder:
    """Searches a grid backwards from a tile, breadth first."""

    def __init__(self, fabric: Lightpath) -> None:
        tail, head = fabric.edges()
        ids = fabric.edge_ids(tail, head)
        self._into: list[list[tuple[int, int]]] = [[] for _ in range(fabric.node_count)]
        for one, two, edge in zip(
            tail.tolist(), head.tolist(), ids.tolist(), strict=True
        ):
            self._into[two].append((one, edge))

    def path(
        self, tile: int, wanted: npt.NDArray[np.bool_], room: list[int]
    ) -> list[int] | None:
        """Return the tiles from the nearest wanted one to `tile`, and take the room.

        `wanted`: where it may begin, shape (tiles,). `room`: what each edge id still
        carries; lowered by one along the path.
        """
        goals = wanted.tolist()
        onward: dict[int, tuple[int, int]] = {tile: (-1, -1)}
        front = [tile]
        while front:
            new: list[int] = []
            for at in front:
                for before, edge in self._into[at]:
                    if before in onward or room[edge] <= 0:
                        continue
                    onward[before] = (at, edge)
                    if goals[before]:
                        return _taken(before, onward, room)
                    new.append(before)
            front = new
        return None


def _taken(
    start: int, onward: dict[int, tuple[int, int]], room: list[int]
) -> list[int]:
    """Return the path from `start`, its room taken."""
    path = [start]
    while (step := onward[path[-1]])[1] >= 0:
        room[step[1]] -= 1
        path.append(step[0])
    return path
