"""A click group that imports a command only when it is used."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from lightloom.cli.console import end_line, say, silence_stdout
from lightloom.cli.failure import PIPE_CLOSED, describe
from lightloom.core.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class LazyGroup(click.Group):
    """A group whose commands live in modules that are imported on use.

    `package`: dotted name of the package that holds a module for each command, with the
    command as its attribute ``command``. `summaries`: each command with its one-line
    help, in the order of ``--help``.
    """

    def __init__(
        self,
        *,
        package: str,
        summaries: Mapping[str, str],
        **attributes: Any,  # noqa: ANN401  (click's own signature)
    ) -> None:
        super().__init__(**attributes)
        self.package = package
        self.summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of ``--help``."""
        del ctx
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; ``None`` for an unknown one."""
        del ctx
        if cmd_name not in self.summaries:
            return None
        module = importlib.import_module(f"{self.package}.{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the arguments, or say which one might be meant.

        Raises `click.UsageError` if the command is unknown, with the most similar name.
        """
        name = args[0]
        if name in self.summaries or name.startswith("-"):
            return super().resolve_command(ctx, args)
        meant = nearest(name, self.summaries)
        what = f"unknown command {name!r}"
        raise click.UsageError(f"{what}; {meant}" if meant else what, ctx)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing any of them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))

    def shell_complete(
        self, ctx: click.Context, incomplete: str
    ) -> list[CompletionItem]:
        """Return commands to complete, without importing any of them."""
        commands = [
            CompletionItem(name, help=summary)
            for name, summary in self.summaries.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; a reader that went away ends it quietly."""
        try:
            answer: object = super().invoke(ctx)
        except BrokenPipeError:
            silence_stdout()
            ctx.exit(PIPE_CLOSED)
        except KeyboardInterrupt:
            # Here, as click writes an empty line about one that it sees itself.
            end_line()
            raise click.Abort from None
        return answer

    def main(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  (click's)
        """Run the program and exit: every failure is one line and an exit code.

        `args`, `kwargs`: arguments of `click.Command.main`; ``args`` is the command
        line without the program.

        Raises `SystemExit`: always, with the exit code.
        """
        kwargs["standalone_mode"] = False
        kwargs["prog_name"] = self.name
        try:
            code = super().main(*args, **kwargs) or 0
            code = self._flushed(code)
        except click.exceptions.NoArgsIsHelpError as asked:
            click.echo(asked.format_message(), err=True)
            code = asked.exit_code
        except BaseException as problem:  # noqa: BLE001  (the outermost handler)
            message, code = describe(problem)
            if message:
                say(message)
        raise SystemExit(code)

    @staticmethod
    def _flushed(code: int) -> int:
        """Flush stdout while failing to do so can still be handled."""
        if sys.stdout is None:  # closed before we began
            return code
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            silence_stdout()
            return PIPE_CLOSED
        return code


def run(group: LazyGroup, arguments: Sequence[str] | None = None) -> None:
    """Run a group of commands on a command line, and exit.

    Raises `SystemExit`: always, with the exit code.
    """
    group.main(args=None if arguments is None else list(arguments))
