"""Scatter: rank i ends with block i of the root's buffer."""

from __future__ import annotations

from lightloom.instances.collectives import CollectiveOp
from lightloom.instances.collectives.holders import everyone_own_block, root_everything

OP = CollectiveOp(
    name="scatter",
    reduces=False,
    rooted=True,
    uses_blocks=True,
    initial=root_everything,
    final=everyone_own_block,
)
