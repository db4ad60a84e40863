"""``lightloom bound``: what no schedule can beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightloom.cli.main import SUMMARIES
from lightloom.cli.progress import progress
from lightloom.cli.streams import write_json, write_table, write_text
from lightloom.core.units import format_ps

if TYPE_CHECKING:
    from lightloom.core.certificate import Certificate


@click.command(
    "bound",
    help=SUMMARIES["bound"]
    + "\n\nINSTANCE is a name of `lightloom instances` or a TOML file.",
)
@click.argument("instance")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(instance: str, *, as_json: bool) -> None:
    """Print every bound, the best first."""
    from lightloom.instances.named import load_instance
    from lightloom.validate.bounds import all_bounds, lower_bound

    question = load_instance(instance)
    with progress("bound") as tell:
        tell("computing every kind of bound")
        best = lower_bound(question.fabric, question.communication)
        certificates = sorted(
            all_bounds(question.fabric, question.communication).values(),
            key=lambda certificate: (-certificate.bound, certificate.kind),
        )
    if as_json:
        write_json(
            {
                "instance": instance,
                "bound": None if best is None else best.bound,
                "kind": None if best is None else best.kind,
                "witness": None if best is None else best.witness,
                "bounds": [_record(certificate) for certificate in certificates],
            }
        )
        return
    from lightloom.report.bound_table import bound_table

    write_table(bound_table(certificates))
    if best is None:
        write_text(f"{instance}: no bound is known")
    else:
        text = f"no schedule ends before {format_ps(best.bound)} ({best.kind})"
        write_text(f"{instance}: {text}")


def _record(certificate: Certificate) -> dict[str, object]:
    return {
        "kind": certificate.kind,
        "bound": certificate.bound,
        "witness": certificate.witness,
    }
