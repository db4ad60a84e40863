"""``lightloom bound``: what no schedule can beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightloom.cli.completion import problem_names
from lightloom.cli.console import (
    answer_text,
    progress,
    write_json,
    write_table,
    write_text,
)
from lightloom.cli.failure import as_given
from lightloom.cli.instance_argument import (
    INSTANCE_HELP,
    asked_instance,
    instance_argument,
)
from lightloom.cli.main import SUMMARIES
from lightloom.cli.parameters import seed_option
from lightloom.core.certificate import stored
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.certificate import Certificate


@click.command(
    "bound",
    help=SUMMARIES["bound"] + f"\n\n{INSTANCE_HELP}"
    " Bounds are on"
    " the completion time or, with --problem, on the objective of that problem.",
)
@instance_argument
@click.option(
    "--problem",
    shell_complete=problem_names,
    metavar="NAME",
    help="rounds, routing, ocs, ring, placement.",
)
@seed_option("Of the search for witnesses, with --problem.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(instance: str, *, problem: str | None, seed: int, as_json: bool) -> None:
    """Print every bound, the best first."""
    with as_given(instance, problem="--problem"):
        if problem is None:
            _completion_time(instance, as_json=as_json)
        else:
            _objective(instance, problem, seed, as_json=as_json)


def _completion_time(instance: str, *, as_json: bool) -> None:
    from lightloom.synth.bounds import all_bounds

    question = asked_instance(instance)
    with progress("bound") as tell:
        tell("computing every kind of bound")
        certificates = sorted(
            all_bounds(question.fabric, question.communication).values(),
            key=lambda certificate: (-certificate.bound, certificate.kind),
        )
    if as_json:
        write_json({"instance": question.name, **_record(certificates)})
        return
    if not certificates:
        write_text(f"{question.name}: no bound is known")
        return
    from lightloom.report.result_tables import bound_table

    write_table(bound_table(certificates, "ps"))
    best = certificates[0]
    text = f"no schedule ends before {format_ps(int(best.bound))} ({best.kind})"
    write_text(f"{question.name}: {text}")


def _objective(instance: str, problem: str, seed: int, *, as_json: bool) -> None:
    from lightloom.problems import problem_for

    with progress("bound") as tell:
        tell("looking for witnesses")
        asked = asked_instance(instance)
        known = problem_for(asked, problem)
        certificates = known.checked_bounds(asked, seed)
    if as_json:
        head = {"instance": asked.name, "problem": problem, "unit": known.unit}
        write_json({**head, **_record(certificates)})
        return
    if not certificates:
        write_text(f"{asked.name}: no bound is known")
        return
    from lightloom.report.result_tables import bound_table

    best = certificates[0]
    write_table(bound_table(certificates, known.unit))
    side = "most" if known.sense == "maximise" else "least"
    value = answer_text(str(best.bound), known.unit)
    verb = "takes" if known.unit == "ps" else "has"
    text = f"every answer {verb} at {side} {value} ({best.kind}, witness checked)"
    write_text(f"{asked.name}: {text}")


def _record(certificates: Sequence[Certificate]) -> dict[str, object]:
    """Return bounds, the best first, as their documented JSON object."""
    bounds = [
        {"kind": one.kind, "bound": stored(one.bound), "witness": one.witness}
        for one in certificates
    ]
    best = bounds[0] if bounds else {"kind": None, "bound": None, "witness": None}
    return {
        **{key: best[key] for key in ("bound", "kind", "witness")},
        "bounds": bounds,
    }
