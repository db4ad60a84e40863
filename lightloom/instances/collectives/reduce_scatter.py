"""Reduce-scatter: rank i ends with block i of the sum."""

from __future__ import annotations

from lightloom.instances.collectives import CollectiveOp
from lightloom.instances.collectives.holders import (
    everyone_everything,
    everyone_own_block,
)

OP = CollectiveOp(
    name="reduce-scatter",
    reduces=True,
    rooted=False,
    uses_blocks=True,
    initial=everyone_everything,
    final=everyone_own_block,
)
