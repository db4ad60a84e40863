"""Resources: what the circuits of a segment take, against what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.columns import distinct
from lightloom.core.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.fabric import CircuitFabric
    from lightloom.core.schedule import Segment


def check(
    fabric: CircuitFabric, segment: Segment, sound: npt.NDArray[np.bool_]
) -> Iterator[Violation]:
    """Yield every resource that the segment's sound circuits overuse.

    One checker for every fabric: the fabric says what its circuits take, how much
    there is, and which rule limits it. The violation carries the excess.

    `segment`: a segment whose columns are those of the fabric. `sound`: which of its
    circuits are well-formed, shape (circuits,); others take nothing.
    """
    rows = np.flatnonzero(sound)
    usage = fabric.usage(segment.circuits.take(rows))
    if not len(usage.resource):
        return
    order = np.argsort(usage.resource, kind="stable")
    resource = usage.resource[order]
    starts = np.flatnonzero(np.concatenate([[True], resource[1:] != resource[:-1]]))
    taken = np.add.reduceat(usage.amount[order], starts)
    capacity = fabric.capacity(resource[starts])
    ends = np.append(starts[1:], len(resource))
    for group in np.flatnonzero(taken > capacity).tolist():
        number = int(resource[starts[group]])
        users = distinct(rows[usage.circuit[order[starts[group] : ends[group]]]])
        shown = ", ".join(
            f"{segment.circuits.src[row]} -> {segment.circuits.dst[row]}"
            for row in users[:4].tolist()
        )
        more = f" and {len(users) - 4} more" if len(users) > 4 else ""
        message = (
            f"segment {segment.index} of plane {segment.plane} takes {taken[group]} of"
            f" {capacity[group]}: circuits {shown}{more}"
        )
        yield Violation(
            fabric.resource_rule(number),
            None,
            fabric.resource_name(number),
            message,
            int(taken[group] - capacity[group]),
        )
