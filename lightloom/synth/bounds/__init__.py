"""The search for witnesses of lower bounds on the completion time.

Each module of this folder offers as ``SEARCHES`` the kinds of bound it finds witnesses
for. A kind without a search has an empty witness: fabric and task say it all. Nothing
rests on how a search works: `lightloom.validate` proves what it finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue
from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time import BOUND_KINDS
from lightloom.validate.certificates.completion_time.step_costs import can_carry

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.bounds.witness_search import WitnessSearch

_NOTHING: Witness = {}

__all__ = ["SEARCHES", "all_bounds", "find_bound", "lower_bound"]


SEARCHES: Catalogue[WitnessSearch] = Catalogue(
    __name__, attribute="SEARCHES", noun="kind of bound with a search"
)
"""The search for a witness of each kind of bound that needs one."""


def find_bound(kind: str, fabric: AnyFabric, task: Task) -> Certificate | None:
    """Return the best certificate of one kind that is found, without value.

    Parameters
    ----------
    kind
        One of `BOUND_KINDS`.
    fabric
        Any fabric.
    task
        Sound for it; its chunks need not be chosen and do not matter.

    Returns
    -------
    ``None`` where the kind has nothing to say about fabric and task.
    """
    if not can_carry(fabric):
        return None
    searched, witness = kind in SEARCHES, _NOTHING
    if searched:
        try:
            found = SEARCHES[kind].find(fabric, task)
        except WitnessError:
            return None  # the task is too large for this kind
        if found is None:
            return None
        witness = found
    try:
        bound_ps = BOUND_KINDS[kind].prove(fabric, task, witness)
    except WitnessError:
        if searched:
            raise
        return None  # the kind is about other fabrics, or other tasks
    if not bound_ps:
        return None
    return Certificate(COMPLETION_TIME, kind, bound_ps, None, witness)


def all_bounds(fabric: AnyFabric, task: Task) -> dict[str, Certificate]:
    """Return the best certificate of each kind that has one, by kind.

    Parameters
    ----------
    fabric, task
        As of `find_bound`.

    Notes
    -----
    Deterministic. On a grid O((rows cols)^2) for the cuts; else near-linear.
    """
    found = {kind: find_bound(kind, fabric, task) for kind in BOUND_KINDS}
    return {kind: bound for kind, bound in found.items() if bound is not None}


def lower_bound(fabric: AnyFabric, task: Task) -> Certificate | None:
    """Return the certificate of the largest bound, the first by name among equals.

    Parameters
    ----------
    fabric, task
        As of `find_bound`.

    Returns
    -------
    ``None`` where there is nothing to do, or nothing can ever be done.
    """
    bounds = all_bounds(fabric, task).values()
    return max(bounds, key=lambda found: found.bound, default=None)
