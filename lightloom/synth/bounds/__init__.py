"""The search for witnesses of lower bounds on the completion time.

Each module of this folder offers as ``SEARCHES`` the kinds of bound it finds witnesses
for; so does the entry point of another package. A kind without a search has an empty
witness: fabric and task say it all. Nothing rests on how a search works:
`lightloom.validate` proves what it finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.catalogue import Catalogue
from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time import BOUND_KINDS
from lightloom.validate.certificates.completion_time.step_costs import can_carry

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.synth.bounds.witness_search import WitnessSearch

_NOTHING: Witness = {}

CLOSE = 10**6
"""An answer whose gap is less than one part in this is as good as proven: so much is
lost where steps are rounded to picoseconds, and no long search is worth it."""


SEARCHES: Catalogue[WitnessSearch] = Catalogue(
    __name__,
    attribute="SEARCHES",
    noun="search for a bound",
    group="lightloom.searches",
)
"""The search for a witness of each kind of bound that needs one."""


def find_bound(
    kind: str, fabric: AnyFabric, task: Task, *, quick: bool = False
) -> Certificate | None:
    """Return the best certificate of one kind that is found, without value.

    `quick`: by `WitnessSearch.quick`, where the kind has it.

    Returns ``None`` where the kind has nothing to say about fabric and task.
    """
    if not can_carry(fabric) or not BOUND_KINDS[kind].concerns(task):
        return None
    searched, witness = kind in SEARCHES, _NOTHING
    if searched:
        try:
            search = SEARCHES[kind]
            find = search.quick if quick and search.quick else search.find
            found = find(fabric, task)
        except WitnessError:
            return None  # the task is too large for this kind
        if found is None or isinstance(found, Certificate):
            return found
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


def all_bounds(
    fabric: AnyFabric, task: Task, say: Callable[[str], None] | None = None
) -> dict[str, Certificate]:
    """Return the best certificate of each kind that has one, by kind.

    `say`: as of `usable_kinds`.

    Deterministic. On a grid O((rows cols)^2) for the cuts; else near-linear.
    """
    bounds = {kind: find_bound(kind, fabric, task) for kind in usable_kinds(say)}
    return {kind: bound for kind, bound in bounds.items() if bound is not None}


def usable_kinds(say: Callable[[str], None] | None = None) -> list[str]:
    """Return the kinds that can be loaded with their searches, sorted.

    `say`: told why a kind or a search of another package is passed over.
    """
    lost = {*SEARCHES} - {search.name for search in SEARCHES.usable(say)}
    return [kind.name for kind in BOUND_KINDS.usable(say) if kind.name not in lost]


def lower_bound(fabric: AnyFabric, task: Task) -> Certificate | None:
    """Return the certificate of the largest bound: see `LowerBounds.best`.

    Parameters
    ----------
    fabric, task
        As of `find_bound`.
    """
    return LowerBounds(fabric, task).best()


class LowerBounds:
    """Bounds on one task, computed when they are asked for, each kind once.

    `say`: as of `usable_kinds`.
    """

    def __init__(
        self,
        fabric: AnyFabric,
        task: Task,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._fabric, self._task = fabric, task
        self._best: Certificate | None = None
        kinds = usable_kinds(say)
        self._left = [
            *((kind, False) for kind in kinds if not _is_long(kind)),
            *((kind, True) for kind in kinds if _has_quick_search(kind)),
            *((kind, False) for kind in kinds if _is_long(kind)),
        ]

    @property
    def quick_ps(self) -> int:
        """What kinds say that are found fast, 0 for nothing."""
        return self._raised(0)

    def best(self, reached_ps: int | None = None) -> Certificate | None:
        """Return the certificate of the largest bound.

        Of equal bounds one that is found fast, and the first by name; ``None`` where
        there is nothing to do, or nothing can ever be done.

        `reached_ps`: what an answer takes, if there is one: kinds whose search is long
        are not asked once it is within `CLOSE` of the best of the others.
        """
        self._raised(reached_ps)
        return self._best

    def _raised(self, reached_ps: int | None) -> int:
        """Ask kinds until one bound comes near an answer, and return the best in ps."""
        best_ps = 0 if self._best is None else int(self._best.bound)
        while self._left:
            near = reached_ps is not None and reached_ps - best_ps <= best_ps // CLOSE
            kind, quick = self._left[0]
            if near and not quick and _is_long(kind):
                break
            del self._left[0]
            found = find_bound(kind, self._fabric, self._task, quick=quick)
            if found is not None and found.bound > best_ps:
                self._best, best_ps = found, int(found.bound)
        return best_ps


def _is_long(kind: str) -> bool:
    return kind in SEARCHES and SEARCHES[kind].long


def _has_quick_search(kind: str) -> bool:
    return kind in SEARCHES and SEARCHES[kind].quick is not None
