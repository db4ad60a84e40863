"""Checking an operation of RAMP at any size, step by step in a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.bench.measures import Measure
from lightloom.core.errors import InputError, NoAnswerError
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.programs.ramp_nic import check_operation, operation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.instances.instance import Instance


def run(instance: Instance, seed: int, op: str) -> Iterator[int]:
    """Check an operation over all nodes, as ``lightloom ramp check``.

    Parameters
    ----------
    instance
        Names the fabric.
    seed
        Not used.
    op
        The operation.
    """
    del seed
    fabric = instance.fabric
    if not isinstance(fabric, Ramp):
        raise InputError("not a RAMP", where=instance.name, found=fabric.kind)
    report = check_operation(operation(fabric, op, range(fabric.node_count)))
    if not report.valid:
        raise NoAnswerError(f"{op} breaks {len(report.violations)} rules")
    yield report.circuits


MEASURE = Measure(
    "ramp-check",
    "check every circuit of an operation on RAMP",
    "circuits",
    ("check",),
    run,
)
