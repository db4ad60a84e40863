"""Rows of multicast circuits, each against the first of its circuit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from lightloom.core.circuit import ALONE, COLUMNS

if TYPE_CHECKING:
    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray, Ragged


def misplaced(circuits: Circuits) -> npt.NDArray[np.bool_]:
    """Return which rows cannot belong to the multicast circuit they name.

    A row is misplaced if its id is below `ALONE`, if it differs from the first row of
    its circuit in what a source gives, or leads where an earlier row of it leads.

    `circuits`: of one segment, all columns of one length.
    """
    wrong = np.zeros(len(circuits), dtype=np.bool_)
    ids = circuits.multicast
    if ids is None:
        return wrong
    wrong |= ids < ALONE
    lead = circuits.transmissions()
    wrong |= circuits.src != circuits.src[lead]
    for each in COLUMNS:
        values = getattr(circuits, each.name)
        if each.by_source and values is not None:
            wrong |= _differ(values, lead) if each.ragged else values != values[lead]
    shared = np.flatnonzero(ids > ALONE)
    order = shared[np.lexsort((shared, circuits.dst[shared], lead[shared]))]
    same = lead[order][1:] == lead[order][:-1]
    same &= circuits.dst[order][1:] == circuits.dst[order][:-1]
    wrong[order[1:][same]] = True
    return wrong


def _differ(rows: Ragged, lead: IntArray) -> npt.NDArray[np.bool_]:
    """Return which rows differ from their lead."""
    wrong: npt.NDArray[np.bool_] = rows.lengths != rows.lengths[lead]
    compared = np.flatnonzero(~wrong)
    mine, first = rows.take(compared), rows.take(lead[compared])
    wrong[compared[mine.row_of_value[mine.values != first.values]]] = True
    return wrong
