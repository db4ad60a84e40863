"""``lightloom help``: the help of the program, or of one of its commands."""

from __future__ import annotations

import click

from lightloom.cli.console import write_text
from lightloom.cli.main import SUMMARIES


@click.command(
    "help",
    help=SUMMARIES["help"] + "\n\nCOMMAND may have several words: `lightloom help bench"
    " run` is `lightloom bench run --help`.",
)
@click.argument("command", nargs=-1, metavar="[COMMAND]")
@click.pass_context
def command(ctx: click.Context, command: tuple[str, ...]) -> None:
    """Print the help of a command."""
    assert ctx.parent is not None
    place = ctx.parent
    for name in command:
        group = place.command
        if not isinstance(group, click.Group):
            what = f"`{place.command_path}` has no commands of its own"
            raise click.UsageError(what, ctx)
        _, found, _ = group.resolve_command(place, [name])
        assert found is not None
        place = click.Context(found, parent=place, info_name=name)
    write_text(place.get_help())
