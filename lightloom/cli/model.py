"""``lightloom model``: an optimisation problem as a file that any solver reads."""

from __future__ import annotations

import click

from lightloom.cli.console import progress, write_json, write_text
from lightloom.cli.failure import as_given
from lightloom.cli.files import check_output
from lightloom.cli.options import (
    INSTANCE,
    JSON_INSTEAD,
    asked_instance,
    command,
    option,
    problem_names,
)
from lightloom.cli.parameters import parse_variant, places


@command
def model_command(
    *,
    instance: str = INSTANCE,
    problem: str | None = option(
        "rounds, routing, ocs, ring, placement. Default: the one that fabric and task"
        " are of, where there is just one.",
        shell_complete=problem_names,
    ),
    params: tuple[str, ...] = option(
        "Variant of the problem, for example paths=3; repeatable.",
        "--param",
        metavar="KEY=VALUE",
    ),
    horizon: int | None = option(
        "Same as --param horizon=R.", type=click.IntRange(0), metavar="R"
    ),
    file: str = option("File to write: .mps or .lp.", "--write", metavar="FILE"),
    as_json: bool = JSON_INSTEAD,
) -> None:
    """Write an optimisation problem as a file that any solver reads.

    INSTANCE is a name of `lightloom instances` or a TOML file; - is stdin.
    """
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
