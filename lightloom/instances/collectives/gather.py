"""Gather: the root ends with block i of every rank i."""

from __future__ import annotations

from lightloom.instances.collectives import CollectiveOp
from lightloom.instances.collectives.holders import everyone_own_block, root_everything

OP = CollectiveOp(
    name="gather",
    reduces=False,
    rooted=True,
    uses_blocks=True,
    initial=everyone_own_block,
    final=root_everything,
)
