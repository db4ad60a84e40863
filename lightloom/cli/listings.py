"""``lightloom instances``, ``algorithms``, ``formats``, ``solvers``, ``schema``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lightloom.cli.console import write_json, write_table, write_text
from lightloom.cli.options import (
    INSTANCE,
    JSON,
    argument,
    asked_instance,
    command,
    option,
    parameters_of,
)
from lightloom.core.errors import InputError, nearest, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.instances.instance import Instance


@command
def show_command(*, instance: str = INSTANCE) -> None:
    """Print an instance as TOML, every default filled in.

    INSTANCE is a name of `lightloom instances` or a TOML file; - is stdin.
    """
    from lightloom.instances.instance_file import instance_toml

    write_text(instance_toml(asked_instance(instance)))


def _instances(
    *,
    fabric: str | None = option("Only instances of this fabric.", metavar="FABRIC"),
    op: str | None = option("Only instances of this operation or model.", metavar="OP"),
    names: bool = option("Print full names, one per line."),
    as_json: bool = JSON,
) -> None:
    """List the catalogue of instances, or print one as TOML.

    A name is FABRIC/OPERATION-SIZE, for example lightpath-256/all-reduce-64MiB; --names
    prints them all.
    """
    if click.get_current_context().invoked_subcommand is not None:
        return
    from lightloom.instances.catalogue import (
        demand_fabrics,
        fabrics,
        named_instances,
    )
    from lightloom.instances.collectives import COLLECTIVES
    from lightloom.instances.workloads import MODELS

    _check("--fabric", fabric, [*fabrics(), *demand_fabrics()])
    _check("--op", op, [*COLLECTIVES, *MODELS])
    chosen = [
        instance
        for instance in named_instances()
        if _is_of(instance, fabric=fabric, op=op)
    ]
    if as_json:
        write_json({"instances": [instance.name for instance in chosen]})
    elif names:
        write_text("\n".join(instance.name for instance in chosen))
    else:
        from lightloom.report.listings import instance_table

        write_table(instance_table(chosen))


instances_command = click.Group(
    "instances",
    callback=_instances,
    params=parameters_of(_instances),
    help=_instances.__doc__,
    commands=[show_command],
    invoke_without_command=True,
)


def _is_of(instance: Instance, *, fabric: str | None, op: str | None) -> bool:
    of_fabric, task = instance.name.split("/")
    return fabric in (None, of_fabric) and op in (None, task.rsplit("-", 1)[0])


def _check(option: str, value: str | None, known: Iterable[str]) -> None:
    if value is not None and value not in set(known):
        raise InputError(
            "not in the catalogue",
            where=option,
            found=value,
            allowed=", ".join(sorted(known)),
            fix=nearest(value, known),
        )


@command
def algorithms_command(*, name: str | None = argument(), as_json: bool = JSON) -> None:
    """List the algorithms, what they serve and their parameters.

    With NAME, each parameter of that algorithm: type, default, domain and meaning. A
    list is given separated by commas; the default ... is chosen by the algorithm.
    """
    from lightloom.report.listings import (
        algorithm_rows,
        algorithm_table,
        parameter_table,
    )

    rows = algorithm_rows()
    known = {row.name: row for row in rows}
    if name is not None:
        if name not in known:
            raise unknown_name("algorithm", name, known, where="NAME")
        rows = [known[name]]
    if as_json:
        write_json({"algorithms": [row.record() for row in rows]})
    elif name is None:
        write_table(algorithm_table(rows))
    else:
        (row,) = rows
        write_text(f"{row.name}: {row.summary}\nserves {', '.join(row.ops)}")
        if row.parameters:
            write_text("")
            write_table(parameter_table(row))
        else:
            write_text("no parameters")


_FORMATS = (
    (
        "lightloom schedule",
        ".jsonl",
        "2 (reads 1)",
        "verify, replay, plot, export",
        "synth, solve, import",
    ),
    (
        "MSCCL XML",
        ".xml",
        "msccl 2023, Azure executor, RCCL",
        "verify, import",
        "export --to msccl",
    ),
    (
        "MSCCL++ execution plan",
        ".json",
        "microsoft/mscclpp 2025",
        "verify, import",
        "export --to mscclpp",
    ),
    ("transfers as CSV", ".csv", "1", "import", "export --to transfers"),
    ("flows of TE-CCL", ".json", "keys 6-Flows, 7-Flows", "import", ""),
    ("solution of overlap4ocs", ".json", "of PuLP or Gurobi", "import --config", ""),
    ("parameters of overlap4ocs", ".toml", "keys of its README", "import --config", ""),
    ("switch program as CSV", ".csv", "1", "", "export --to csv"),
    ("switch or node program as JSON", ".json", "1", "", "export --to json"),
    (
        "SONiC OCS cross-connects",
        ".json",
        "OCS_CROSS_CONNECT, JSON patch (RFC 6902)",
        "",
        "export --to sonic-ocs",
    ),
    ("instance", ".toml", "1", "every command with INSTANCE", "instances show"),
    ("traffic matrix, pairs", ".csv", "1", "[demand] of an instance", ""),
    ("trace events", ".json", "Perfetto, Chrome", "", "replay --trace"),
    ("picture", ".png, .svg, .pdf", "", "", "plot, reproduce, bench report"),
    ("Chakra trace", ".et", "0.0.4", "train --chakra", "export --to chakra"),
    ("communication log", ".log, .txt", "as published with LUMORPH", "train --log", ""),
    ("FlexFlow task graph", ".json", "as published with TopoOpt", "train --graph", ""),
    ("iterations by batch size", ".csv", "1", "train --curve", ""),
    ("table of a sweep", ".csv", "1", "", "sweep --csv"),
    ("model", ".mps, .lp", "MPS, CPLEX LP", "", "model --write"),
    ("ONNX", ".onnx", "onnx >= 1.17", "[computation] of an instance", ""),
    (
        "FlexFlow operator profile",
        ".json",
        "as published with TopoOpt",
        "[computation] of an instance",
        "",
    ),
    ("graph of operations", ".json", "1", "[workload] of an instance", ""),
    ("benchmark results", ".jsonl", "1", "bench report, compare", "bench run"),
)
"""Formats that commands read or write: name, suffix, version or whose definition is
followed, the commands that read it, those that write it."""


@command
def formats_command(*, as_json: bool = JSON) -> None:
    """List the formats that are read and written, with versions."""
    if as_json:
        keys = ("name", "suffix", "version", "read", "write")
        write_json({"formats": [dict(zip(keys, row, strict=True)) for row in _FORMATS]})
        return
    from lightloom.report.tables import terminal_table

    headings = ("format", "suffix", "version", "read by", "written by")
    write_table(terminal_table(headings, _FORMATS))


@command
def solvers_command(*, as_json: bool = JSON) -> None:
    """List the solvers: which are here, and what they can do."""
    from lightloom.solvers import SOLVERS

    rows = [(adapter, adapter.status()) for adapter in SOLVERS.values()]
    if as_json:
        write_json(
            {
                "solvers": [
                    {
                        "name": adapter.name,
                        "available": bool(status.availability),
                        "status": str(status.availability),
                        "version": status.version,
                        "kinds": list(adapter.capabilities.kinds),
                        "summary": adapter.summary,
                        "reason": status.reason or None,
                    }
                    for adapter, status in rows
                ]
            }
        )
        return
    from lightloom.report.tables import terminal_table

    headings = ("solver", "available", "version", "takes", "summary", "remark")
    write_table(
        terminal_table(
            headings,
            [
                (
                    adapter.name,
                    "yes" if status.availability else "no",
                    status.version,
                    ", ".join(adapter.capabilities.kinds),
                    adapter.summary,
                    status.reason,
                )
                for adapter, status in rows
            ],
        )
    )


@command
def schema_command() -> None:
    """Print the JSON Schema of the schedule file."""
    from importlib.resources import files

    shipped = files("lightloom.formats").joinpath("schedule.schema.json")
    write_text(shipped.read_text(encoding="utf-8"))
