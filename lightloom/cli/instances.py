"""``lightloom instances``: the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightloom.cli.console import write_json, write_table, write_text
from lightloom.cli.instance_argument import (
    INSTANCE_HELP,
    asked_instance,
    instance_argument,
)
from lightloom.cli.main import SUMMARIES
from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.instances.instance import Instance


_SHOW = "Print an instance as TOML, every default filled in."
_NAMED = f"\n\n{INSTANCE_HELP}"


@click.group(
    "instances",
    help=SUMMARIES["instances"] + "\n\nA name is FABRIC/OPERATION-SIZE, for example"
    " lightpath-256/all-reduce-64MiB; --names prints them all.",
    invoke_without_command=True,
)
@click.option("--fabric", metavar="FABRIC", help="Only instances of this fabric.")
@click.option("--op", metavar="OP", help="Only instances of this operation or model.")
@click.option("--names", is_flag=True, help="Print full names, one per line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    ctx: click.Context,
    fabric: str | None,
    op: str | None,
    *,
    names: bool,
    as_json: bool,
) -> None:
    """List the catalogue."""
    if ctx.invoked_subcommand is not None:
        return
    from lightloom.instances.catalogue import (
        demand_fabrics,
        fabrics,
        named_instances,
    )
    from lightloom.instances.collectives import COLLECTIVES
    from lightloom.instances.workloads import MODELS

    _check("--fabric", fabric, [*fabrics(), *demand_fabrics()])
    _check("--op", op, [*COLLECTIVES, *MODELS])
    chosen = [
        instance
        for instance in named_instances()
        if _is_of(instance, fabric=fabric, op=op)
    ]
    if as_json:
        write_json({"instances": [instance.name for instance in chosen]})
    elif names:
        write_text("\n".join(instance.name for instance in chosen))
    else:
        from lightloom.report.listings import instance_table

        write_table(instance_table(chosen))


@command.command("show", short_help=_SHOW, help=_SHOW + _NAMED)
@instance_argument
def show(instance: str) -> None:
    """Print one instance, named or in a file."""
    from lightloom.instances.instance_file import instance_toml

    write_text(instance_toml(asked_instance(instance)))


def _is_of(instance: Instance, *, fabric: str | None, op: str | None) -> bool:
    of_fabric, task = instance.name.split("/")
    return fabric in (None, of_fabric) and op in (None, task.rsplit("-", 1)[0])


def _check(option: str, value: str | None, known: Iterable[str]) -> None:
    if value is not None and value not in set(known):
        raise InputError(
            "not in the catalogue",
            where=option,
            found=value,
            allowed=", ".join(sorted(known)),
            fix=nearest(value, known),
        )
