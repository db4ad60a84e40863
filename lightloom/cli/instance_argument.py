"""The argument INSTANCE of a command, and the options that change what it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

from lightloom.cli.completion import instance_names
from lightloom.cli.parameters import parse_parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.instances.instance import Instance

CommandT = TypeVar("CommandT", bound="Callable[..., object]")

INSTANCE_HELP = (
    "INSTANCE is a name of `lightloom instances` or a TOML file; - is stdin."
)

_CHANGES = "lightloom.changes"
_SIZE = "lightloom.size"


def instance_argument(command: CommandT) -> CommandT:
    """Give a command the argument INSTANCE, and the options ``--set`` and ``--size``.

    `asked_instance` reads what they say; the command has the argument alone.

    `command`: the function of the command, with a parameter ``instance``.
    """
    options = (
        click.argument("instance", shell_complete=instance_names),
        click.option(
            "--set",
            metavar="TABLE.KEY=VALUE",
            multiple=True,
            expose_value=False,
            callback=_kept(_CHANGES),
            help="Change a key of the instance, for example fabric.lasers=8;"
            " repeatable.",
        ),
        click.option(
            "--size",
            metavar="BYTES",
            expose_value=False,
            callback=_kept(_SIZE),
            help="Change the buffer of the collective, for example 3MiB.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def asked_instance(name: str) -> Instance:
    """Return the instance that the current command is asked about.

    `name`: what the argument says: a name of the catalogue, a TOML file, or ``-``.

    Raises `InputError`: there is no such instance or key, or the changed instance is
    not right.
    """
    from lightloom.instances.catalogue import (
        BUFFER_BYTES,
        load_changed,
        parse_size,
    )

    said = click.get_current_context().meta
    changes: dict[str, object] = dict(
        parse_parameters(said.get(_CHANGES, ()), option="--set")
    )
    if (size := said.get(_SIZE)) is not None:
        changes[BUFFER_BYTES] = parse_size(size, "--size")
    return load_changed(name, changes)


def _kept(place: str) -> Callable[[click.Context, click.Parameter, object], object]:
    """Return what keeps the value of an option for `asked_instance`."""

    def keep(ctx: click.Context, param: click.Parameter, value: object) -> object:
        del param
        ctx.meta[place] = value
        return value

    return keep
