"""``lightloom demo``: the whole path on the rack of the LUMORPH paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from lightloom.cli.console import progress, say, write_table
from lightloom.cli.failure import INVALID
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import output_folder

if TYPE_CHECKING:
    from lightloom.instances.fabrics.packet_tiers import IdealSwitch

_RACK, _SWITCH = "lightpath-256", "ideal-switch-256"


@click.command(
    "demo",
    help=SUMMARIES["demo"]
    + f"\n\n64 MiB on {_RACK} by ring, LUMORPH-2, LUMORPH-4, multiport and auto,"
    f" beside ring and double binary tree on {_SWITCH}. Leaves the schedule of"
    " auto, its trace and a plot.",
)
@click.option(
    "--out",
    metavar="DIR",
    default="out/demo",
    show_default=True,
    help="Folder for the files.",
)
@click.pass_context
def command(ctx: click.Context, out: str) -> None:
    """Run the demonstration."""
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
    ctx.exit(0 if shown.valid else INVALID)
