"""``lightloom model``: an optimisation problem as a file that any solver reads."""

from __future__ import annotations

import click

from lightloom.cli.console import write_json, write_text
from lightloom.cli.error_locations import as_given
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import check_output
from lightloom.cli.problem_model import places, state_problem
from lightloom.cli.progress import progress


@click.command(
    "model",
    help=SUMMARIES["model"]
    + "\n\nINSTANCE is a name of `lightloom instances` or a TOML file.",
)
@click.argument("instance")
@click.option("--problem", required=True, help="rounds, routing, ocs, ring, placement.")
@click.option(
    "--param",
    "params",
    metavar="KEY=VALUE",
    multiple=True,
    help="Variant of the problem, for example paths=3; repeatable.",
)
@click.option(
    "--horizon", type=click.IntRange(0), metavar="R", help="Same as --param horizon=R."
)
@click.option(
    "--write", "file", metavar="FILE", required=True, help="File to write: .mps or .lp."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."
)
def command(
    instance: str,
    problem: str,
    params: tuple[str, ...],
    horizon: int | None,
    file: str,
    *,
    as_json: bool,
) -> None:
    """Build a model, write it, and say how large it is."""
    from lightloom.solvers import built
    from lightloom.solvers.model_file import (
        check_suffix,
        write_model,
    )

    check_output(file, "--write", instance)
    check_suffix(file)
    with progress("model") as tell, as_given(instance, **places(problem)):
        stated = state_problem(instance, problem, params, horizon, tell)
        model = built(stated.build)
        tell(f"writing {file}")
        form = write_model(model, file)
    record = {
        "file": file,
        "instance": stated.instance.name,
        "problem": stated.problem.name,
        "rows": form.rows,
        "columns": form.columns,
        "integer_columns": int(form.integral.sum()),
        "nonzeros": form.nonzeros,
        "model_sha256": form.sha256(),
    }
    if as_json:
        write_json(record)
        return
    write_text(
        f"{file}: {problem} of {instance}: {form.rows:,} rows, {form.columns:,} columns"
        f" ({record['integer_columns']:,} integer), {form.nonzeros:,} entries"
    )
