"""``lightloom bench``: suites of runs, their results, and what they show."""

from __future__ import annotations

import click

from lightloom.cli.lazy_group import LazyGroup
from lightloom.cli.main import SUMMARIES
from lightloom.core.errors import nearest

BENCH_SUMMARIES = {
    "run": "Run what is missing of a suite, each run isolated and verified.",
    "list": "List the built-in suites and the instance families.",
    "report": "Tables and plots of a results file.",
    "golden": "Ask cells with stored answers again; say what became worse.",
    "pages": "Make the tables of pages anew, from stored answers.",
    "compare": "What changed between two results files, beyond noise.",
}


class _BenchGroup(LazyGroup):
    """``lightloom bench smoke`` is short for ``lightloom bench run smoke``."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the arguments; a suite stands for running it."""
        name = args[0]
        if name in self.summaries or name.startswith("-"):
            return super().resolve_command(ctx, args)
        from lightloom.bench.suite import built_in_suites

        suites = built_in_suites()
        if name.endswith(".toml") or name in suites:
            return super().resolve_command(ctx, ["run", *args])
        known = [*self.summaries, *suites]
        what = f"unknown command or suite {name!r}; allowed: {', '.join(known)}"
        what += ", or a .toml file"
        meant = nearest(name, known)
        raise click.UsageError(f"{what}; {meant}" if meant else what, ctx)


command = _BenchGroup(
    name="bench",
    package="lightloom.cli.bench",
    summaries=BENCH_SUMMARIES,
    help=SUMMARIES["bench"]
    + "\n\nA suite says which problems, on which instances, by whom, within which"
    " limits. Results are one line a run, whatever became of it, and are only ever"
    " appended to. `lightloom bench smoke` is short for `lightloom bench run smoke`.",
    no_args_is_help=True,
)
