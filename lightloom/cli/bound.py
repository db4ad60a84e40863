"""``lightloom bound``: what no schedule can beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.cli.console import (
    answer_text,
    progress,
    write_json,
    write_table,
    write_text,
)
from lightloom.cli.failure import as_given
from lightloom.cli.options import (
    INSTANCE,
    JSON,
    asked_instance,
    command,
    option,
    problem_names,
    seed_option,
)
from lightloom.core.certificate import stored
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.certificate import Certificate


@command
def bound_command(
    *,
    instance: str = INSTANCE,
    problem: str | None = option(
        "rounds, routing, ocs, ring, placement.",
        shell_complete=problem_names,
        metavar="NAME",
    ),
    seed: int = seed_option("Of the search for witnesses, with --problem."),
    as_json: bool = JSON,
) -> None:
    """Print the lower bounds on the completion time of an instance.

    INSTANCE is a name of `lightloom instances` or a TOML file; - is stdin. Bounds are
    on the completion time or, with --problem, on the objective of that problem.
    """
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
            all_bounds(question.fabric, question.communication, tell).values(),
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
