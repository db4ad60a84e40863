"""Broadcast: everyone ends with the root's buffer."""

from __future__ import annotations

from lightloom.instances.collectives import CollectiveOp
from lightloom.instances.collectives.holders import everyone_everything, root_everything

OP = CollectiveOp(
    name="broadcast",
    reduces=False,
    rooted=True,
    uses_blocks=False,
    initial=root_everything,
    final=everyone_everything,
)
