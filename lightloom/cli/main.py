"""The program ``lightloom``: the table of its commands, imported only when used."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from lightloom import __version__
from lightloom.cli.console import end_line, say, silence_stdout, write_text
from lightloom.cli.failure import PIPE_CLOSED, describe, leaving
from lightloom.cli.options import argument, command
from lightloom.core.errors import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SUMMARIES = {
    "instances": "List the catalogue of instances, or print one as TOML.",
    "algorithms": "List the algorithms, what they serve and their parameters.",
    "synth": "Synthesise a schedule, verify it and write it to a file.",
    "verify": "Check a schedule file: every rule, and its lower bound.",
    "export": "Write a schedule in a format of collective libraries.",
    "import": "Read a program of a collective library as a schedule.",
    "formats": "List the formats that are read and written, with versions.",
    "conform": "Check a synthesiser of your own on generated tasks.",
    "replay": "Execute a schedule in time and say how long it takes.",
    "plot": "Draw a schedule: circuits, time line, traffic, time and bound.",
    "diff": "Compare two schedules: what differs, and where the time goes.",
    "show": "Write a schedule as a page: fabric, steps, time, verdict.",
    "bound": "Print the lower bounds on the completion time of an instance.",
    "solve": "Solve an optimisation problem, by our algorithm or a solver.",
    "model": "Write an optimisation problem as a file that any solver reads.",
    "train": "Share a model out on a fabric and replay a training iteration.",
    "jobs": "Let trainings share a fabric: waiting, slow-down, fragmentation.",
    "solvers": "List the solvers: which are here, and what they can do.",
    "reproduce": "Compute a figure of a paper and compare it with the paper.",
    "ramp": "RAMP: check networks of any size, print a node's program.",
    "sweep": "Synthesise over sizes, keys and algorithms: table, CSV, picture.",
    "bench": "Benchmark solvers and algorithms: run suites, report, compare.",
    "demo": "All-reduce on 256 GPUs: synthesise, verify, replay, compare.",
    "schema": "Print the JSON Schema of the schedule file.",
    "help": "Print the help of a command.",
}

_LISTINGS = ("instances", "algorithms", "formats", "solvers", "schema")
_MODULES = {"help": "main", "model": "solve", **dict.fromkeys(_LISTINGS, "listings")}
"""Modules of the commands that have none of their own name."""


class LazyGroup(click.Group):
    """A group whose commands live in modules that are imported on use.

    `summaries`: each command with its one-line help, in the order of ``--help``.
    `modules`: modules of `package` that hold commands, where they do not have the name
    of their command. The attribute of command ``x`` is ``x_command`` everywhere.
    """

    def __init__(
        self,
        *,
        package: str,
        summaries: Mapping[str, str],
        modules: Mapping[str, str],
        **attributes: Any,  # noqa: ANN401  (click's own signature)
    ) -> None:
        super().__init__(**attributes)
        self.package = package
        self.summaries = summaries
        self.modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of ``--help``."""
        del ctx
        return list(self.summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; ``None`` for an unknown one."""
        del ctx
        if cmd_name not in self.summaries:
            return None
        name = self.modules.get(cmd_name, cmd_name)
        module = importlib.import_module(f"{self.package}.{name}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
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


@command
def help_command(*, command: tuple[str, ...] = argument("[COMMAND]")) -> None:
    """Print the help of a command.

    COMMAND may have several words: `lightloom help bench run` is `lightloom bench run
    --help`.
    """
    ctx = click.get_current_context()
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


lightloom = LazyGroup(
    name="lightloom",
    package="lightloom.cli",
    summaries=SUMMARIES,
    modules=_MODULES,
    help=(
        "Verified circuit schedules for optical interconnects.\n\n"
        "Data go to stdout and talk to stderr. Exit codes: 0 done; 1 the schedule "
        "breaks a rule (verify), or the synthesiser does (conform); 2 the question or "
        "a file is wrong; 3 no answer within the limits; 4 proven: no answer exists; "
        "70 a defect of the program; 130 interrupted. LIGHTLOOM_DEBUG=1 adds "
        "tracebacks of defects."
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    no_args_is_help=True,
)
click.version_option(__version__, "-V", "--version", prog_name="lightloom")(lightloom)


def main() -> None:
    """Run the program on the arguments of the process, and exit."""
    with leaving():
        run(lightloom)
