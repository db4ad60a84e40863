"""Networks of many shapes, and the checks that a plan of any of them must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from lightloom.core.schedule import Segment
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.validate.checks.circuits import overused

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits

# (groups, racks, nodes_per_rack): the paper's example, powers of two, odd and uneven.
SHAPES = (
    (3, 3, 6),
    (2, 2, 4),
    (4, 4, 8),
    (4, 2, 8),
    (3, 2, 9),
    (4, 4, 4),
    (4, 4, 16),
    (4, 4, 12),
    (5, 1, 5),
    (5, 3, 10),
    (2, 1, 2),
    (6, 2, 12),
    (1, 1, 1),
)


def network(shape: tuple[int, int, int], **keys: object) -> Ramp:
    """Return the network of a shape."""
    groups, racks, numbers = shape
    return Ramp(groups=groups, racks=racks, nodes_per_rack=numbers, **keys)  # type: ignore[arg-type]


@st.composite
def shapes(draw: st.DrawFn, most_groups: int = 6) -> tuple[int, int, int]:
    """Draw a valid (groups, racks, nodes_per_rack) of no more than some 200 nodes."""
    groups = draw(st.integers(1, most_groups))
    racks = draw(st.integers(1, groups))
    most = max(1, min(groups, 200 // (groups * racks * groups)))
    return groups, racks, groups * draw(st.integers(1, most))


def contentions(fabric: Ramp, circuits: Circuits) -> set[str]:
    """Return the rules of the resources that circuits overuse."""
    sound = np.ones(len(circuits), dtype=np.bool_)
    found = overused(fabric, Segment(0, 0, circuits), sound)
    return {violation.rule for violation in found}
