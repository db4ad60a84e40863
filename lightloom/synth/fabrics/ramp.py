"""The plug of RAMP, whose collectives `lightloom.synth.ramp` makes."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.errors import InputError
from lightloom.core.record_conversion import convert
from lightloom.core.task import Collective
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.synth.auto.search import AUTO
from lightloom.synth.fabrics.plug import FabricPlug, MadeSchedule
from lightloom.synth.ramp.schedules import NAME, ways

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lightloom.instances.instance import Instance

MOST_ROWS = 2**22
"""Most rows, about, of a schedule that is kept in memory as a whole."""


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the algorithm ``ramp``.

    Attributes
    ----------
    strategy
        ``steps``; ``exchange`` (all-reduce), ``direct`` (all-to-all), ``tree``
        (broadcast); by default the fastest.
    """

    strategy: str | None = None


def schedules(
    instance: Instance, algorithm: str, parameters: Mapping[str, object], seed: int
) -> Iterator[MadeSchedule]:
    """Yield a schedule for each way to do a collective: see `FabricPlug`.

    Parameters
    ----------
    instance
        A collective on a RAMP network.
    algorithm
        ``auto`` or the name of the only algorithm.
    parameters
        Those of `Parameters` by name; empty for ``auto``.
    seed
        Only written into the schedules: nothing is random.

    Raises
    ------
    InputError
        Another algorithm, invalid parameters, a demand, or a collective that is too
        large, or that RAMP cannot do on these nodes.
    """
    fabric, task = instance.fabric, instance.communication
    assert isinstance(fabric, Ramp)
    if algorithm not in (AUTO, NAME):
        what, allowed = "unknown algorithm on RAMP", f"{AUTO}, {NAME}"
        raise InputError(what, where="algorithm", found=algorithm, allowed=allowed)
    if algorithm == AUTO and parameters:
        what = "auto takes no parameters"
        raise InputError(what, where="parameters", found=sorted(parameters))
    if not isinstance(task, Collective):
        what = "RAMP's algorithm does collectives, not demands"
        raise InputError(what, where=f"{instance.name}: demand")
    _check_size(instance.name, fabric, task)
    wanted = convert(dict(parameters), Parameters, where=f"algorithm.{NAME}")
    for way in ways(fabric, task, wanted.strategy):
        yield MadeSchedule(way.schedule(seed))


def _check_size(name: str, fabric: Ramp, task: Collective) -> None:
    """Raise if the schedule would be too large to keep."""
    ranks = task.rank_count
    # Blocks of ranks in any order lie apart: a pair of nodes moves each by itself.
    scattered = task.op in ("all-gather", "all-to-all", "reduce-scatter")
    each = ranks if scattered else 8 * fabric.groups
    if ranks * each > MOST_ROWS:
        raise InputError(
            f"too many nodes for a schedule file of {task.op}",
            where=f"{name}: collective.nodes",
            found=ranks,
            allowed=f"at most {isqrt(MOST_ROWS) if scattered else MOST_ROWS // each}",
            fix="use `lightloom ramp check`, which streams",
        )


PLUG = FabricPlug[Ramp]("ramp", schedules=schedules)
