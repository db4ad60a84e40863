"""``lightloom demo``: the whole path on the rack of the LUMORPH paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lightloom.cli.console import progress, say, write_table
from lightloom.cli.failure import INVALID
from lightloom.cli.files import output_folder
from lightloom.cli.options import (
    command,
    option,
)

if TYPE_CHECKING:
    from lightloom.instances.fabrics.packet_tiers import IdealSwitch

_RACK, _SWITCH = "lightpath-256", "ideal-switch-256"


@command
def demo_command(
    *, out: str = option("Folder for the files.", metavar="DIR", default="out/demo")
) -> int:
    """All-reduce on 256 GPUs: synthesise, verify, replay, compare.

    64 MiB on lightpath-256 by ring, LUMORPH-2, LUMORPH-4, multiport and auto, beside
    ring and double binary tree on ideal-switch-256. Leaves the schedule of auto, its
    trace and a plot.
    """
    from lightloom.core.units import MIB
    from lightloom.instances.catalogue import fabrics
    from lightloom.papers.demonstration import demonstrate

    known = fabrics()
    rack, switch = known[_RACK], cast("IdealSwitch", known[_SWITCH])
    folder = output_folder(out, "--out")
    with progress("demo") as tell:
        shown = demonstrate(rack, switch, 64 * MIB, folder, tell)
    write_table(shown.table())
    for path in shown.files:
        say(f"wrote {path}")
    return 0 if shown.valid else INVALID
