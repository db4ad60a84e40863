"""``lightloom solve`` and ``model``: a problem solved, or written for any solver."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import click

from lightloom.cli.console import (
    answer_text,
    progress,
    value_text,
    write_json,
    write_text,
)
from lightloom.cli.failure import INTERRUPTED, NO_ANSWER, as_given
from lightloom.cli.files import check_output
from lightloom.cli.json_records import certificates_text, objective_records
from lightloom.cli.options import (
    INSTANCE,
    JSON_INSTEAD,
    Seconds,
    asked_instance,
    command,
    option,
    output_option,
    parse_parameters,
    problem_names,
    solver_names,
)
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.outcome import Limit, Reason
from lightloom.core.units import MIB

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.schedule import SealedSchedule
    from lightloom.problems import Problem
    from lightloom.problems.solve import Solution

_PROBLEM = option(
    "rounds, routing, ocs, ring, placement. Default: the one that fabric and task"
    " are of, where there is just one.",
    shell_complete=problem_names,
)
_HORIZON = option("Same as --param horizon=R.", type=click.IntRange(0), metavar="R")


@command
def solve_command(
    *,
    instance: str = INSTANCE,
    problem: str | None = _PROBLEM,
    solver: str | None = option(
        "`lightloom`, our own algorithm; `divide-and-conquer` (rounds) or"
        " `flow-heuristic` (ring), those of papers; or one of `lightloom solvers`."
        " Default: lightloom where it has one and nothing is asked of a solver, else"
        " highs.",
        shell_complete=solver_names,
    ),
    params: tuple[str, ...] = option(
        "Variant of the problem, for example paths=3, or"
        " method=divide-and-conquer; repeatable.",
        "--param",
        metavar="KEY=VALUE",
    ),
    horizon: int | None = _HORIZON,
    time_limit: float | None = option(
        "Seconds to build the model and solve it; not reproducible.",
        type=Seconds(zero=True),
        metavar="S",
    ),
    node_limit: int | None = option(
        "Search nodes; reproducible.", type=click.IntRange(0, 2**31 - 1), metavar="N"
    ),
    memory_limit: int | None = option(
        "Memory of the solver.", type=click.IntRange(1, 2**40), metavar="MIB"
    ),
    seed: int = option(
        "Solver's seed.", type=click.IntRange(0, 2_000_000_000), default=0
    ),
    threads: int = option(
        "Solver's threads; more than one is not reproducible.",
        type=click.IntRange(1, 1024),
        default=1,
    ),
    extra: tuple[str, ...] = option(
        "Option in the solver's own words; repeatable.", "--option", metavar="KEY=VALUE"
    ),
    output: str | None = output_option(
        "Schedule file, where the problem's answers are schedules; verified first."
    ),
    log: bool = option("Show the solver's log on stderr."),
    as_json: bool = JSON_INSTEAD,
) -> int:
    """Solve an optimisation problem, by our algorithm or a solver.

    INSTANCE is a name of `lightloom instances` or a TOML file; - is stdin. Rounds by a
    solver, neither horizon nor parameters given, are searched horizon by horizon, from
    the certified bound upward. Exit code 0 with an answer, proven optimal or not; 3
    without one; 4 if there is none. Ctrl-C ends a solver's search and keeps what it
    found; exit code 130 if that is nothing.
    """
    if as_json and output == "-":
        what = "--json and --output - both need stdout; write the schedule to a file"
        raise click.UsageError(what)
    from lightloom.problems import problem_for
    from lightloom.problems.solve import solve
    from lightloom.solvers import SolveOptions

    if output is not None:
        check_output(output, "--output", instance)
    options = SolveOptions(
        time_limit_s=time_limit,
        node_limit=node_limit,
        memory_limit_bytes=None if memory_limit is None else memory_limit * MIB,
        seed=seed,
        threads=threads,
        log=log,
        extra=_extra(extra),
    )
    options_of = _places()
    with progress("solve") as tell, as_given(instance, **options_of):
        asked = asked_instance(instance)
        known = problem_for(asked, problem)
        if output is not None and known.schedule_objective is None:
            what = f"answers of {known.name} are not schedules"
            raise InputError(what, where="--output", found=output)
        variant = _parse_variant(known, params, horizon)
        found = solve(
            asked, known, solver, variant=variant, options=options, progress=tell
        )
        schedule = None if output is None else found.schedule
    return _report(_record(asked.name, found), schedule, output, as_json=as_json)


def _report(
    record: dict[str, object],
    schedule: SealedSchedule | None,
    output: str | None,
    *,
    as_json: bool,
) -> int:
    """Say what came out; return the exit code."""
    proven = ""
    if output is not None and schedule is not None:
        from lightloom.synth.publish import publish

        verdict = publish(schedule, output)
        record["file"] = output
        record["objectives"] = objective_records(verdict)
        proven = f"\n  {certificates_text(verdict)}"
    if as_json:
        write_json(record)
    elif output == "-":
        click.echo(_text(record) + proven, err=True)
    else:
        write_text(_text(record) + proven)
    if record["objective"] is not None:
        return 0
    if record["limit"] == Limit.INTERRUPT:
        return INTERRUPTED
    infeasible = record["status"] == Reason.PROVEN_INFEASIBLE
    return InfeasibleError.exit_code if infeasible else NO_ANSWER


def _extra(texts: tuple[str, ...]) -> dict[str, bool | int | float | str]:
    """Return the solver's own options, numbers as numbers."""
    values: dict[str, bool | int | float | str] = {}
    for key, value in parse_parameters(texts, flag="--option").items():
        if isinstance(value, list):
            raise InputError("a list is not allowed", where="--option", found=key)
        values[key] = value
        if isinstance(value, str):
            try:
                values[key] = float(value)
            except ValueError:
                continue
    return values


def _record(instance: str, found: Solution) -> dict[str, object]:
    """Return the documented JSON object of what came out; no file is written yet."""
    outcome, by = found.outcome, found.outcome.provenance
    return {
        "instance": instance,
        "problem": found.problem.name,
        "solver": None if by is None else by.solver,
        "version": None if by is None else by.version,
        "status": str(found.status),
        "limit": None if outcome.limit is None else str(outcome.limit),
        "answer": None if found.value is None else str(found.value),
        "unit": found.problem.unit,
        "objective": outcome.objective,
        "bound": outcome.bound,
        "gap": found.gap,
        "seconds": None if by is None else by.wall_s,
        "seed": None if by is None else by.seed,
        "threads": None if by is None else by.threads,
        "model_sha256": None if by is None else by.model_sha256,
        "detail": list(outcome.detail),
        "file": None,
        "objectives": None,
    }


def _text(record: dict[str, object]) -> str:
    """Return an outcome for people."""
    limit = f" ({record['limit']} limit)" if record["limit"] else ""
    by = f"{record['solver']} {record['version']}: {record['status']}{limit}"
    lines = [f"{record['instance']}: {record['problem']} by {by}"]
    unit = str(record["unit"])
    if record["answer"] is not None:
        lines.append(f"  answer {answer_text(str(record['answer']), unit)}")
    values = []
    # A model may count its levels where the answer is a fraction.
    if record["answer"] in (None, _number(record["objective"])):
        values = [
            f"{name} {value_text(value, unit)}"
            for name in ("objective", "bound")
            if isinstance(value := record[name], int | float)
        ]
        if isinstance(record["gap"], float):
            values.append(f"gap {100 * record['gap']:.2f} %")
    if isinstance(record["seconds"], float):
        values.append(f"{record['seconds']:.2f} s")
    lines.append("  " + ", ".join(values))
    detail = record["detail"]
    if record["answer"] is None and isinstance(detail, list) and detail:
        lines.append(f"  {'; '.join(detail)}")
    if record["file"] is not None:
        lines.append(f"  {record['file']}: written, verified")
    return "\n".join(lines)


def _number(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


@command
def model_command(
    *,
    instance: str = INSTANCE,
    problem: str | None = _PROBLEM,
    params: tuple[str, ...] = option(
        "Variant of the problem, for example paths=3; repeatable.",
        "--param",
        metavar="KEY=VALUE",
    ),
    horizon: int | None = _HORIZON,
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
    options_of = _places()
    with progress("model") as tell, as_given(instance, **options_of):
        asked = asked_instance(instance)
        known = problem_for(asked, problem)
        variant = _parse_variant(known, params, horizon)
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


_WORDS = {"bool": "true or false", "int": "integer", "str": "text"}


def _parse_variant(
    problem: Problem, texts: Iterable[str], horizon: int | None
) -> dict[str, object]:
    """Return the keyword arguments of a model's ``build`` that texts give.

    `texts`: one text for each use of ``--param``. `horizon`: of ``--horizon``, which is
    a short form; ``None`` if it is not given.

    Raises `InputError`: no such variant (nearest names suggested), or a value that it
    does not take.
    """
    given = [*texts, *([] if horizon is None else [f"horizon={horizon}"])]
    parsed: dict[str, object] = dict(parse_parameters(given))
    problem.check_variant(parsed)
    for_model = {key: value for key, value in parsed.items() if key != "method"}
    takes = inspect.signature(problem.model().build).parameters if for_model else {}
    for key, value in for_model.items():
        kinds = str(takes[key].annotation).split(" | ")
        plain = [kind for kind in kinds if kind in _WORDS]
        if not plain:
            fix = "build the model in Python"
            raise InputError("not to be given as text", where=key, fix=fix)
        if type(value).__name__ not in plain:
            allowed = " or ".join(_WORDS[kind] for kind in plain)
            raise InputError("wrong type", where=key, found=value, allowed=allowed)
    return parsed


def _places() -> dict[str, str]:
    """Return the option of each argument of a problem, for messages."""
    from lightloom.problems import PROBLEMS

    variants = {
        name: f"--param {name}"
        for problem in PROBLEMS.values()
        for name, _ in problem.variants
    }
    variants["method"] = "--param method"
    return {"problem": "--problem", "solver": "--solver", **variants}
