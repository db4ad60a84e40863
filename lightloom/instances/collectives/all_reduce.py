"""All-reduce: everyone ends with the sum of everyone's buffer."""

from __future__ import annotations

from lightloom.instances.collectives import CollectiveOp
from lightloom.instances.collectives.holders import everyone_everything

OP = CollectiveOp(
    name="all-reduce",
    reduces=True,
    rooted=False,
    uses_blocks=False,
    initial=everyone_everything,
    final=everyone_everything,
)
