"""Formulas of the RAMP paper as they are printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.synth.ramp.team import Shape

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ramp import Ramp
    from lightloom.synth.ramp.team import Places, Team
    from lightloom.synth.ramp.team_steps import Phase


class PrintedShape(Shape):
    """The information map of Table 7, printed."""

    def portion(self, step: int, places: Places) -> IntArray:
        """Return the portion that each node takes."""
        group, rack, lam = places
        quotient = lam // self.groups
        if step == 1:
            return (group - lam - rack - quotient * rack) % self.groups
        if step == 2:
            return (group - rack - quotient * rack) % self.groups
        return rack if step == 3 else quotient


def printed_subgroup_3(shape: Shape, group: int, rack: int, lam: int) -> int:
    """Return the id of a subgroup of step 3 by Table 5, printed."""
    return (lam + shape.numbers * (rack - group)) % (shape.numbers * rack)


def printed_transceivers(
    fabric: Ramp, src: Places, dst: Places, members: int
) -> IntArray:
    """Return the transceivers of pairs by equations (2) to (4), printed."""
    x = fabric.groups
    more = (x - x // members * (members - 1)) // (members - 1)
    first = src[0] + dst[0] + src[1]
    return (first[:, None] + np.arange(1 + more)) % x


def printed_circuits(team: Team, phase: Phase, *, several: bool = True) -> Circuits:
    """Return the circuits of a phase on the transceivers that are printed.

    With `several`, all of a pair, by equations (3) and (4); else that of (2) alone.
    """
    members = team.shape.members(phase.step)
    src, dst = team.at(phase.src), team.at(phase.dst)
    used = printed_transceivers(team.fabric, src, dst, members)
    used = used if several else used[:, :1]
    return Circuits(
        np.repeat(team.nodes[phase.src], used.shape[1]),
        np.repeat(team.nodes[phase.dst], used.shape[1]),
        transceiver=used.reshape(-1),
    )
