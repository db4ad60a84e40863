"""``lightloom solve``: an optimisation problem, by our algorithm or a solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lightloom.cli.console import write_json, write_text
from lightloom.cli.error_locations import as_given
from lightloom.cli.failure import INTERRUPTED, NO_ANSWER
from lightloom.cli.formatting import answer_text, value_text
from lightloom.cli.json_records import certificates_text, objective_records
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import check_output
from lightloom.cli.parameters import parse_parameters
from lightloom.cli.problem_model import places, state_problem
from lightloom.cli.progress import progress
from lightloom.cli.seconds import Seconds
from lightloom.core.errors import InfeasibleError, InputError, nearest
from lightloom.core.outcome import Limit, Reason

if TYPE_CHECKING:
    from lightloom.cli.problem_model import StatedProblem
    from lightloom.core.outcome import Outcome
    from lightloom.core.schedule import Schedule
    from lightloom.solvers import Model, Progress

OWN = "lightloom"
ROUNDS = "rounds"
_MIB = 2**20
_OWN_SCHEDULES = ("routing",)
"""Problems whose answers are schedules only where they are our own."""


@click.command(
    "solve",
    help=SUMMARIES["solve"]
    + "\n\nINSTANCE is a name of `lightloom instances` or a TOML file. Rounds by a"
    " solver, neither horizon nor parameters given, are searched horizon by horizon,"
    " from the certified bound upward. Exit code 0 with an answer, proven optimal or"
    " not; 3 without one; 4 if there is none. Ctrl-C ends a solver's search and keeps"
    " what it found; exit code 130 if that is nothing.",
)
@click.argument("instance")
@click.option("--problem", required=True, help="rounds, routing, ocs, ring, placement.")
@click.option(
    "--solver",
    help="`lightloom`, our own algorithm, or one of `lightloom solvers`. Default:"
    " lightloom where it has one and nothing is asked of a solver, else highs.",
)
@click.option(
    "--param",
    "params",
    metavar="KEY=VALUE",
    multiple=True,
    help="Variant of the problem, for example paths=3; repeatable.",
)
@click.option(
    "--horizon",
    type=click.IntRange(0),
    metavar="R",
    help="Same as --param horizon=R.",
)
@click.option(
    "--time-limit",
    type=Seconds(zero=True),
    metavar="S",
    help="Seconds to build the model and solve it; not reproducible.",
)
@click.option(
    "--node-limit",
    type=click.IntRange(0, 2**31 - 1),
    metavar="N",
    help="Search nodes; reproducible.",
)
@click.option(
    "--memory-limit",
    type=click.IntRange(1, 2**40),
    metavar="MIB",
    help="Memory of the solver.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2_000_000_000),
    default=0,
    show_default=True,
    help="Solver's seed.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="Solver's threads; more than one is not reproducible.",
)
@click.option(
    "--option",
    "extra",
    metavar="KEY=VALUE",
    multiple=True,
    help="Option in the solver's own words; repeatable.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="Schedule file, where the problem's answers are schedules; verified first.",
)
@click.option("--log", is_flag=True, help="Show the solver's log on stderr.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."
)
@click.pass_context
def command(
    ctx: click.Context,
    instance: str,
    problem: str,
    solver: str | None,
    params: tuple[str, ...],
    horizon: int | None,
    time_limit: float | None,
    node_limit: int | None,
    memory_limit: int | None,
    seed: int,
    threads: int,
    extra: tuple[str, ...],
    output: str | None,
    *,
    log: bool,
    as_json: bool,
) -> None:
    """Solve, say what came out, and write the schedule if one is asked for."""
    if as_json and output == "-":
        what = "--json and --output - both need stdout; write the schedule to a file"
        raise click.UsageError(what)
    from lightloom.solvers import SolveOptions, build_and_run, usable

    if output is not None:
        check_output(output, "--output", instance)
    varied = horizon is not None or bool(params)
    limits = (time_limit, node_limit, memory_limit)
    steered = any(limit is not None for limit in limits) or bool(extra) or log
    for_model = varied or steered or threads != 1
    solver = solver or default_solver(problem, for_model=for_model)
    if solver == OWN:
        if for_model:
            what = "variants, limits and options are a solver's; lightloom takes none"
            raise InputError(what, where="--solver", fix="use --solver highs")
        record, reason, schedule = _own(instance, problem, seed, output)
        _report(ctx, record, reason, schedule, output, as_json=as_json)
        return
    _check_known(solver)
    usable(solver)
    options = SolveOptions(
        time_limit_s=time_limit,
        node_limit=node_limit,
        memory_limit_bytes=None if memory_limit is None else memory_limit * _MIB,
        seed=seed,
        threads=threads,
        log=log,
        extra=_extra(extra),
    )
    if problem == ROUNDS and not varied:
        from lightloom.cli.horizon_search import search_horizons

        with progress("solve") as tell, as_given(instance):
            found = search_horizons(instance, solver, options, tell)
        exact = found.incumbent
        record = _record(instance, ROUNDS, ROUNDS, found)
        record["answer"] = None if exact is None else str(exact.rounds)
        schedule = None if exact is None else exact.schedule
        _report(ctx, record, found.reason, schedule, output, as_json=as_json)
        return
    with progress("solve") as tell, as_given(instance, **places(problem)):
        stated = state_problem(instance, problem, params, horizon, tell)
        if output is not None and stated.problem.schedule is None:
            fix = f"use --solver {OWN}" if problem in _OWN_SCHEDULES else ""
            raise no_schedule(problem, output, fix)
        model, outcome = build_and_run(
            stated.build, solver, options, lambda news: tell(_progress_text(news))
        )
    record = _record(instance, stated.problem.name, stated.problem.unit, outcome)
    if outcome.limit is Limit.TIME and outcome.incumbent is None:
        record["detail"] = [*outcome.detail, _advice(stated)]
    schedule = None
    if outcome.incumbent is not None:
        record["answer"] = _exact(stated, model)
        if output is not None:
            schedule = _schedule(stated, model, options.seed)
    _report(ctx, record, outcome.reason, schedule, output, as_json=as_json)


def _own(
    instance: str, problem: str, seed: int, output: str | None
) -> tuple[dict[str, object], Reason, Schedule | None]:
    """Return our own answer, and its schedule where one is asked for."""
    from lightloom.cli.own_answer import own_answer

    with as_given(instance, **places(problem)):
        record, reason, make = own_answer(instance, problem, seed)
        if output is None:
            return record, reason, None
        if make is None:
            raise no_schedule(problem, output)
        return record, reason, make()


def default_solver(problem: str, *, for_model: bool) -> str:
    """Return who solves a problem when nobody is asked for."""
    from lightloom.problems import catalogue

    return OWN if problem in catalogue() and not for_model else "highs"


def _check_known(solver: str) -> None:
    """Raise `InputError` unless a solver has such a name."""
    from lightloom.solvers import SOLVERS

    names = [OWN, *SOLVERS]
    if solver not in names:
        raise InputError(
            "unknown solver",
            where="--solver",
            found=solver,
            allowed=", ".join(names),
            fix=nearest(solver, names),
        )


def no_schedule(problem: str, output: str, fix: str = "") -> InputError:
    """Return the error of a schedule asked for where answers are none."""
    what = f"answers of {problem} are no schedules"
    return InputError(what, where="--output", found=output, fix=fix)


def _report(
    ctx: click.Context,
    record: dict[str, object],
    reason: Reason,
    schedule: Schedule | None,
    output: str | None,
    *,
    as_json: bool,
) -> None:
    """Say what came out; exit with its code."""
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
    if record["objective"] is None:
        if record["limit"] == Limit.INTERRUPT:
            ctx.exit(INTERRUPTED)
        infeasible = reason is Reason.PROVEN_INFEASIBLE
        ctx.exit(InfeasibleError.exit_code if infeasible else NO_ANSWER)


def _extra(texts: tuple[str, ...]) -> dict[str, bool | int | float | str]:
    """Return the solver's own options, numbers as numbers."""
    values: dict[str, bool | int | float | str] = {}
    for key, value in parse_parameters(texts, option="--option").items():
        if isinstance(value, list):
            raise InputError("no list can be given", where="--option", found=key)
        values[key] = value
        if isinstance(value, str):
            try:
                values[key] = float(value)
            except ValueError:
                continue
    return values


def _advice(stated: StatedProblem) -> str:
    """Return what to do about a model that takes too long."""
    size = stated.size
    text = f"the model has up to {size.rows:,} rows and {size.columns:,} columns"
    text += ": give it more time"
    return f"{text}, or use {size.instead}" if size.instead else text


def _schedule(stated: StatedProblem, model: Model, seed: int) -> Schedule:
    """Return the schedule that the answer is, its footer filled in."""
    from dataclasses import replace

    from lightloom.problems import best_certificates
    from lightloom.synth.certify import signed

    assert stated.problem.schedule is not None
    answer = stated.problem.decode(model)
    schedule = stated.problem.schedule(stated.instance, answer)
    algorithm = replace(schedule.algorithm, seed=seed)
    return signed(
        replace(schedule, algorithm=algorithm),
        stated.instance,
        best_certificates(stated.problem.name, stated.instance, seed),
    )


def _exact(stated: StatedProblem, model: Model) -> str | None:
    """Return the exact objective of the answer, ``None`` for a relaxation's values."""
    from lightloom.solvers.standard_form import has_integers

    if not has_integers(model):
        return None
    return str(stated.problem.objective(stated.problem.decode(model)))


def _record(
    instance: str, problem: str, unit: str, outcome: Outcome[Any]
) -> dict[str, object]:
    """Return the documented JSON object of an outcome, its exact answer left out."""
    from lightloom.solvers import relative_gap

    by = outcome.provenance
    return {
        "instance": instance,
        "problem": problem,
        "solver": None if by is None else by.solver,
        "version": None if by is None else by.version,
        "status": str(outcome.reason),
        "limit": None if outcome.limit is None else str(outcome.limit),
        "answer": None,
        "unit": unit,
        "objective": outcome.objective,
        "bound": outcome.bound,
        "gap": relative_gap(outcome.objective, outcome.bound),
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


def _progress_text(news: Progress) -> str:
    """Return what a solver tells, in a line."""
    parts = [f"{news.wall_s:.0f} s"]
    if news.objective is not None:
        parts.append(f"best {_number(news.objective)}")
    if news.bound is not None:
        parts.append(f"bound {_number(news.bound)}")
    if news.gap is not None:
        parts.append(f"gap {100 * news.gap:.2f} %")
    return ", ".join(parts)
