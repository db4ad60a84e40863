"""All-gather: rank i starts with block i, everyone ends with all."""

from __future__ import annotations

from lightloom.instances.collectives import CollectiveOp
from lightloom.instances.collectives.holders import (
    everyone_everything,
    everyone_own_block,
)

OP = CollectiveOp(
    name="all-gather",
    reduces=False,
    rooted=False,
    uses_blocks=True,
    initial=everyone_own_block,
    final=everyone_everything,
)
