"""``lightloom synth``: from an instance to a verified schedule file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightloom.cli.completion import algorithm_names
from lightloom.cli.console import counted, progress, say_table, write_json, write_text
from lightloom.cli.failure import as_given
from lightloom.cli.instance_argument import (
    INSTANCE_HELP,
    asked_instance,
    instance_argument,
)
from lightloom.cli.json_records import certificate_record, certificate_text
from lightloom.cli.main import SUMMARIES
from lightloom.cli.output_paths import check_output
from lightloom.cli.parameters import parse_parameters, seed_option
from lightloom.core.errors import NoAnswerError
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from lightloom.synth.auto import Candidate
    from lightloom.synth.synthesise import Synthesis
    from lightloom.validate import CertificateReport

_ROUTERS = ("minimum-congestion", "random")
_SHOWN = 12
"""Candidates of a comparison that people see; --json has all of them."""


@click.command(
    "synth",
    help=SUMMARIES["synth"] + f"\n\n{INSTANCE_HELP}"
    " Same"
    " arguments, same bytes. Nothing is written that does not verify.",
)
@instance_argument
@click.option(
    "--algorithm",
    shell_complete=algorithm_names,
    default="auto",
    show_default=True,
    help="One of `lightloom algorithms`, or auto to compare all that fit.",
)
@click.option(
    "--param",
    "params",
    metavar="KEY=VALUE",
    multiple=True,
    help="Parameter of the algorithm, for example radices=4,4,16 or signed=true;"
    " repeatable; see `lightloom algorithms NAME`.",
)
@click.option(
    "--router",
    type=click.Choice(_ROUTERS),
    default=_ROUTERS[0],
    show_default=True,
    help="How circuits are routed over waveguides.",
)
@seed_option("Seed of random choices.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    help="Schedule file; .gz and .zst compress; - is stdout.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."
)
def command(
    instance: str,
    algorithm: str,
    params: tuple[str, ...],
    router: str,
    seed: int,
    output: str,
    *,
    as_json: bool,
) -> None:
    """Synthesise, verify, write, and say what came out."""
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
        "compared": [_candidate(candidate) for candidate in synthesis.compared],
    }


def _candidate(candidate: Candidate) -> dict[str, object]:
    return {
        "algorithm": candidate.algorithm,
        "parameters": candidate.parameters,
        "mapping": candidate.mapping,
        "predicted_ps": candidate.predicted_ps,
        "completion_time_ps": candidate.completion_time_ps,
        "reconfigurations": candidate.reconfigurations,
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
