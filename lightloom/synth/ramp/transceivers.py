"""The transceivers that a pair uses in a step, so that no two pairs collide.

RAMP paper, equations (2) to (5), corrected (``docs/spec/errata.md``). Transceivers
stand in *places* of K neighbours, and a pair uses all of one place. No two pairs may
collide in the transmitters of a source, in the receivers of a destination, or in a
subnet, where pairs meet that agree in both groups and in the number of the destination,
whatever their racks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.synth.ramp.participants import Places, Shape


def per_pair(transceivers: int, shape: Shape, step: int) -> int:
    """Return K, how many transceivers a pair uses in a step.

    `transceivers`: of a node, at least ``shape.groups``.

    Equation (3), as printed, takes only the d - 1 peers of a node into account, but
    the J racks of a group share their subnets: with K for each pair, both K J and
    K (d - 1) must find room. Step 3 leads from rack to rack and is tighter still.
    """
    if step == 3:
        return max(transceivers // shape.groups, _across_racks(transceivers, shape))
    peers = max(shape.members(step) - 1, 1)
    return min(transceivers // shape.racks, transceivers // peers)


def transceivers_of(
    transceivers: int, shape: Shape, step: int, src: Places, dst: Places
) -> IntArray:
    """Return the transceivers of (source, destination) pairs, shape (pairs, K).

    With one for each pair, it is ``g_src + g_dst + j_src`` modulo `transceivers`, which
    is equation (2), and ``g_dst + j_src`` in step 3. Else it is a place:

    - in steps 1, 2 and 4 the offset in the subgroup plus j_src. Peers of a node have
      different offsets, from the same rack; pairs that meet in a subnet agree in their
      offset and differ in j_src;
    - in step 3 ``g_dst + j_src``, where there are as many places as groups: peers
      differ in group and in rack, and pairs that meet in a subnet in j_src;
    - or ``j_src + j_dst``, where 2 J - 1 groups or more leave a pair of groups one
      difference of racks, modulo an odd number not below J, so that doubles differ.

    `src`, `dst`: group, rack and number of both ends, shape (pairs,) each.
    """
    count = per_pair(transceivers, shape, step)
    places = transceivers // count
    if step == 3 and count > transceivers // shape.groups:
        place = (src[1] + dst[1]) % _odd(places)
    elif step == 3:
        place = (dst[0] + src[1]) % places
    elif count == 1:
        place = (src[0] + dst[0] + src[1]) % places
    else:
        apart = dst[0] - src[0]
        if step == 4:
            apart = dst[2] // shape.groups - src[2] // shape.groups
        place = (apart % shape.members(step) + src[1]) % places
    return place[:, None] * count + np.arange(count)


def _across_racks(transceivers: int, shape: Shape) -> int:
    """Return how many a pair can use in step 3 by the sum of its racks."""
    if 2 * shape.racks - 1 > shape.groups:
        return 0
    count = transceivers // shape.racks
    while count and _odd(transceivers // count) < shape.racks:
        count -= 1
    return count


def _odd(places: int) -> int:
    """Return the largest odd number up to `places`."""
    return places - 1 + places % 2
