"""``lightloom model``: an optimisation problem as a file that any solver reads."""

from __future__ import annotations

import click

from lightloom.cli.completion import problem_names
from lightloom.cli.console import progress, write_json, write_text
from lightloom.cli.failure import as_given
from lightloom.cli.instance_argument import (
    INSTANCE_HELP,
    asked_instance,
    instance_argument,
)
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import check_output
from lightloom.cli.parameters import parse_variant, places


@click.command(
    "model",
    help=SUMMARIES["model"] + f"\n\n{INSTANCE_HELP}",
)
@instance_argument
@click.option(
    "--problem",
    shell_complete=problem_names,
    help="rounds, routing, ocs, ring, placement. Default: the one that fabric and task"
    " are of, where there is just one.",
)
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
    problem: str | None,
    params: tuple[str, ...],
    horizon: int | None,
    file: str,
    *,
    as_json: bool,
) -> None:
    """Build a model, write it, and say how large it is."""
    from lightloom.problems import problem_for
    from lightloom.problems.solver_model import model_that_fits
    from lightloom.solvers import built
    from lightloom.solvers.model_file import check_suffix, write_model

    check_output(file, "--write", instance)
    check_suffix(file)
    options_of = places()
    with progress("model") as tell, as_given(instance, **options_of):
        asked = asked_instance(instance)
        known = problem_for(asked, problem)
        variant = parse_variant(known, params, horizon)
        formulation = model_that_fits(known, asked, variant, tell)
        model = built(lambda: formulation.build(asked, **variant))
        tell(f"writing {file}")
        form = write_model(model, file)
    record = {
        "file": file,
        "instance": asked.name,
        "problem": known.name,
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
        f"{file}: {known.name} of {asked.name}: {form.rows:,} rows,"
        f" {form.columns:,} columns ({record['integer_columns']:,} integer),"
        f" {form.nonzeros:,} entries"
    )
