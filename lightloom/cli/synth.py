"""``lightloom synth``: from an instance to a verified schedule file."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from lightloom.cli.console import counted, progress, say_table, write_json, write_text
from lightloom.cli.failure import as_given
from lightloom.cli.files import check_output
from lightloom.cli.json_records import certificate_record, certificate_text
from lightloom.cli.options import (
    INSTANCE,
    JSON_INSTEAD,
    algorithm_names,
    asked_instance,
    command,
    option,
    output_option,
    parse_parameters,
    seed_option,
)
from lightloom.core.errors import NoAnswerError
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from lightloom.synth.synthesise import Synthesis
    from lightloom.validate import CertificateReport

_ROUTERS = ("minimum-congestion", "random")
_SHOWN = 12
"""Candidates of a comparison that people see; --json has all of them."""


@command
def synth_command(
    *,
    instance: str = INSTANCE,
    algorithm: str = option(
        "One of `lightloom algorithms`, or auto to compare all that fit.",
        shell_complete=algorithm_names,
        default="auto",
    ),
    params: tuple[str, ...] = option(
        "Parameter of the algorithm, for example radices=4,4,16 or signed=true;"
        " repeatable; see `lightloom algorithms NAME`.",
        "--param",
        metavar="KEY=VALUE",
    ),
    router: str = option(
        "How circuits are routed over waveguides.",
        type=click.Choice(_ROUTERS),
        default=_ROUTERS[0],
    ),
    seed: int = seed_option("Seed of random choices."),
    output: str = output_option("Schedule file; .gz and .zst compress; - is stdout."),
    as_json: bool = JSON_INSTEAD,
) -> None:
    """Synthesise a schedule, verify it and write it to a file.

    INSTANCE is a name of `lightloom instances` or a TOML file; - is stdin. Same
    arguments, same bytes. Nothing is written that does not verify.
    """
    if as_json and output == "-":
        what = "--json and --output - both need stdout; write the schedule to a file"
        raise click.UsageError(what)
    from lightloom.synth.publish import publish
    from lightloom.synth.synthesise import synthesise

    parameters = parse_parameters(params, lists=_list_parameters(algorithm))
    question = asked_instance(instance)
    check_output(output, "--output", instance)
    with progress("synth") as tell, as_given(instance, parameters="--param"):
        outcome = synthesise(
            question, algorithm, parameters, seed=seed, router=router, progress=tell
        )
        if outcome.incumbent is None:
            raise NoAnswerError(str(outcome.reason), where=question.name)
        tell(f"verifying and writing {output}")
        verdict = publish(outcome.incumbent.schedule, output)
    synthesis = outcome.incumbent
    if len(synthesis.compared) > 1:
        from lightloom.report.listings import candidate_table

        say_table(candidate_table(synthesis.compared, shown=_SHOWN))
    if as_json:
        write_json(_record(output, synthesis, verdict.certificate))
    else:
        text = _text(output, synthesis, verdict.certificate)
        if output == "-":
            click.echo(text, err=True)
        else:
            write_text(text)


def _list_parameters(algorithm: str) -> set[str]:
    """Return the parameters that are lists: of an algorithm, or of any if unknown."""
    from lightloom.plans.algorithms import ALGORITHMS
    from lightloom.report.listings import parameters_of

    return {
        parameter.name
        for name, entry in ALGORITHMS.items()
        if name == algorithm or algorithm not in ALGORITHMS
        for parameter in parameters_of(entry)
        if parameter.is_list
    }


def _record(
    output: str, synthesis: Synthesis, certificate: CertificateReport
) -> dict[str, object]:
    schedule = synthesis.schedule
    return {
        "file": output,
        "algorithm": schedule.algorithm.name,
        "parameters": schedule.algorithm.parameters,
        "seed": schedule.algorithm.seed,
        "completion_time_ps": schedule.footer.completion_time_ps,
        "steps": schedule.footer.steps,
        "reconfigurations": _reconfigurations(synthesis),
        "certificate": certificate_record(certificate),
        "compared": [asdict(candidate) for candidate in synthesis.compared],
    }


def _reconfigurations(synthesis: Synthesis) -> int:
    from lightloom.replay import replay

    return len(replay(synthesis.schedule).reconfigurations)


def _text(output: str, synthesis: Synthesis, certificate: CertificateReport) -> str:
    from lightloom.report.bandwidth import bandwidth
    from lightloom.report.listings import parameters_text

    schedule = synthesis.schedule
    parameters = parameters_text(schedule.algorithm.parameters)
    rates = bandwidth(schedule.task, schedule.footer.completion_time_ps)
    return (
        f"{output}: {schedule.algorithm.name} {parameters}".rstrip()
        + f"\n  completion time {format_ps(schedule.footer.completion_time_ps)},"
        f" {counted(schedule.footer.steps, 'step')},"
        f" {counted(_reconfigurations(synthesis), 'reconfiguration')}"
        + (f"\n  {rates}" if rates else "")
        + f"\n  verified; {certificate_text(certificate)}"
    )
