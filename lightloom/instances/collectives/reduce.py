"""Reduce: the root ends with the sum of everyone's buffer."""

from __future__ import annotations

from lightloom.instances.collectives import CollectiveOp
from lightloom.instances.collectives.holders import everyone_everything, root_everything

OP = CollectiveOp(
    name="reduce",
    reduces=True,
    rooted=True,
    uses_blocks=False,
    initial=everyone_everything,
    final=root_everything,
)
