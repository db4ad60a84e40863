"""The least time of rounds on a fibre ring, before any wavelength is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.units import transmission_ps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.columns import IntArray
    from lightloom.instances.fabrics.ring import Ring
    from lightloom.synth.traffic import TrafficRound

NEVER_PS = 1 << 62
"""Stands for the time of what no circuit can carry."""


def least_ring_ps(fabric: Ring, rounds: Sequence[TrafficRound]) -> int:
    """Return a lower bound on the time that rounds take, `NEVER_PS` if they cannot be.

    In a round every node sends, and receives, at its own rate at most, and all spans
    together carry each byte over as many of them as the shorter open way has. One
    configuration is paid for.
    """
    charged = fabric.initial_configuration_charged
    total_ps = fabric.reconfiguration_ps if rounds and charged else 0
    rate = fabric.bits_per_second_per_wavelength
    spans = fabric.nodes * fabric.directions * fabric.wavelengths * rate
    for one in rounds:
        src, dst = one.transfers.src, one.transfers.dst
        hops = _least_hops(fabric, src, dst)
        if (hops > fabric.reach).any():
            return NEVER_PS
        most = max(_most(fabric, end, one.size_bytes) for end in (src, dst))
        carried = int((hops * one.size_bytes.astype(object)).sum())
        total_ps += fabric.alpha_ps + max(
            transmission_ps(most, fabric.node_bits_per_s),
            transmission_ps(carried, spans),
        )
    return total_ps


def _least_hops(fabric: Ring, src: IntArray, dst: IntArray) -> IntArray:
    """Return the spans on the shorter way that a ring has between nodes."""
    forth = fabric.hops(src, dst, np.zeros_like(src))
    if fabric.directions == 1:
        return forth
    return np.minimum(forth, fabric.nodes - forth)


def _most(fabric: Ring, end: IntArray, size_bytes: IntArray) -> int:
    """Return the most bytes at one node."""
    moved = np.zeros(fabric.nodes, dtype=np.int64)
    np.add.at(moved, end, size_bytes)
    return int(moved.max())
