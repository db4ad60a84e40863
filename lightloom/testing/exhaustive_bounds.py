"""Lower bounds of small instances, by trying every small witness there is.

This owes nothing to the search of `lightloom.synth.bounds`: `lightloom.validate` is
asked of each witness what it proves.
"""

from __future__ import annotations

from itertools import chain, combinations, islice
from typing import TYPE_CHECKING

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time import BOUND_KINDS
from lightloom.validate.certificates.completion_time.former_kinds import FORMER_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_ALL_SETS = 255
"""Node sets, smallest first: with their complements all sets of up to 9 nodes."""
_FEW_SETS = 32
_MOST_LEVELS = 4


def every_bound(
    fabric: AnyFabric, task: Task, *, most_sets: int = _ALL_SETS
) -> dict[str, Certificate]:
    """Return the best certificate of each kind of bound on the completion time.

    Tried are the empty witness, every node in either direction and on every level,
    every level, both axes, and small sets of nodes with their complements.

    `fabric`: a small one: the time is that of some proofs for each node.

    Returns by kind, without value; kinds that say nothing are left out. Of equal bounds
    the first witness is kept.
    """
    best: dict[str, Certificate] = {}
    for name, witness in _named_witnesses(fabric, task, most_sets):
        kind = BOUND_KINDS[name]
        if not kind.concerns(task):
            continue
        try:
            bound_ps = kind.prove(fabric, task, witness)
        except WitnessError:
            continue
        if bound_ps and (name not in best or bound_ps > best[name].bound):
            found = Certificate(COMPLETION_TIME, name, bound_ps, None, witness)
            best[name] = found
    return dict(sorted(best.items()))


def _named_witnesses(
    fabric: AnyFabric, task: Task, most_sets: int
) -> Iterator[tuple[str, Witness]]:
    """Yield witnesses of today's kinds, and what former kinds said with few numbers."""
    for witness in _witnesses(fabric.node_count, most_sets):
        yield from ((name, witness) for name in BOUND_KINDS)
        for former in FORMER_KINDS.values():
            try:
                yield former.now, former.witness(fabric, task, witness)
            except WitnessError:
                continue


def best_bound(fabric: AnyFabric, task: Task) -> Certificate | None:
    """Return the certificate of the largest bound, ``None`` where none says anything.

    Few sets of nodes are tried: schedules that carry one are drawn by the thousand.
    """
    found = every_bound(fabric, task, most_sets=_FEW_SETS).values()
    return max(found, key=lambda certificate: certificate.bound, default=None)


def _witnesses(count: int, most_sets: int) -> Iterator[Witness]:
    """Yield witnesses of every form, right or wrong for a fabric of `count` nodes."""
    yield {}
    for node in range(count):
        yield {"node": node}
        for direction in (0, 1):
            yield {"node": node, "direction": direction}
            for level in range(_MOST_LEVELS):
                yield {"level": level, "direction": direction, "node": node}
    yield from ({"level": level} for level in range(_MOST_LEVELS))
    yield from ({"axis": axis} for axis in (0, 1))
    sizes = (combinations(range(count), size) for size in range(1, count))
    for some in islice(chain.from_iterable(sizes), most_sets):
        yield {"nodes": [*some]}
        yield {"nodes": [node for node in range(count) if node not in some]}
