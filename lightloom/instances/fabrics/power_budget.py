"""Optical power: how many nodes light can pass before it must be amplified."""

from __future__ import annotations

from lightloom.core.errors import InputError

BUDGET_MILLIDB = 10_000
"""What a link may lose, from transmit power to receiver sensitivity (SiP-ML, 5)."""

NODE_LOSS_MILLIDB = 625
"""What passing a node loses at most: 0.5 dB of couplers, 0.125 dB of rings there."""


def reach_of_budget(
    budget_millidb: int = BUDGET_MILLIDB, node_loss_millidb: int = NODE_LOSS_MILLIDB
) -> int:
    """Return the most spans that light crosses: whole losses that fit the budget.

    Every span ends in a node, which takes its loss. With 10 dB, 0.625 dB a node give
    16 spans, the reach of the SiP-ML paper (section 5), and the 0.525 dB at the other
    end of its measurements 19.

    Parameters
    ----------
    budget_millidb
        Thousandths of a decibel, 0 or more.
    node_loss_millidb
        Thousandths of a decibel, 1 or more.

    Raises
    ------
    InputError
        A figure out of its domain.
    """
    if budget_millidb < 0:
        what, allowed = "a negative power budget", "0 or more thousandths of a dB"
        where, found = "budget_millidb", budget_millidb
        raise InputError(what, where=where, found=found, allowed=allowed)
    if node_loss_millidb < 1:
        what, allowed = "a node without loss", "1 or more thousandths of a dB"
        where, found = "node_loss_millidb", node_loss_millidb
        raise InputError(what, where=where, found=found, allowed=allowed)
    return budget_millidb // node_loss_millidb
