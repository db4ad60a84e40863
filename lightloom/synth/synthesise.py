"""From an instance to a schedule: plan, choose, weave, replay, certify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.outcome import Outcome, Reason
from lightloom.core.task import Collective
from lightloom.instances.collectives import check_collective
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.synth.auto.candidate_pool import Candidate, CandidatePool
from lightloom.synth.auto.search import AUTO, search, search_demand
from lightloom.synth.certify import signed
from lightloom.synth.fabrics import catalogue
from lightloom.synth.rank_mapping import GIVEN
from lightloom.validate.certificates.completion_time import lower_bound
from lightloom.validate.checks import task as task_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import Instance

ROUTERS = ("minimum-congestion", "random")


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A schedule, and what it was compared with.

    Attributes
    ----------
    schedule
        The best found, its footer filled in.
    compared
        Every candidate that was woven or predicted, fastest first.
    """

    schedule: Schedule
    compared: tuple[Candidate, ...]


def synthesise(
    instance: Instance,
    algorithm: str = AUTO,
    parameters: Mapping[str, object] | None = None,
    *,
    seed: int = 0,
    router: str = ROUTERS[0],
    progress: Callable[[str], None] | None = None,
) -> Outcome[Synthesis]:
    """Return a schedule for an instance.

    Parameters
    ----------
    instance
        Fabric and task.
    algorithm
        Name of an algorithm, or ``auto`` to compare all families.
    parameters
        Parameters of a named algorithm.
    seed
        Seed of everything random; the result is a function of the arguments.
    router
        ``minimum-congestion`` (the paper's Algorithm 2) or ``random`` (its random
        choice among shortest paths).
    progress
        Told in words what is being done.

    Returns
    -------
    Outcome whose objective and bound are completion times in picoseconds. The
    reason is *proven optimal* where they are equal.

    Raises
    ------
    InputError
        Unknown algorithm, parameter or router; an algorithm that cannot do the task.
    InfeasibleError
        If the fabric cannot serve the task at all.
    """
    if router not in ROUTERS:
        allowed = ", ".join(ROUTERS)
        raise InputError("unknown router", found=router, allowed=allowed)
    task, fabric = instance.communication, instance.fabric
    _refuse_unsound(instance)
    own = catalogue().get(fabric.kind)
    circuits = isinstance(fabric, CircuitFabric)
    if own is None and circuits and not isinstance(fabric, Lightpath):
        what = f"no algorithm weaves circuits for the fabric {fabric.kind!r}"
        solved = fabric.kind in ("ocs", "ring")
        fix = f"use `lightloom solve --problem {fabric.kind}`" if solved else ""
        raise InputError(what, where=f"{instance.name}: fabric.kind", fix=fix)
    pool = CandidatePool(instance, seed=seed, router=router, progress=progress)
    if own is not None:
        _enter_all(pool, own.schedules(instance, algorithm, parameters or {}, seed))
    elif isinstance(task, Collective):
        search(pool, algorithm, dict(parameters or {}))
    else:
        search_demand(pool, algorithm, dict(parameters or {}))
    schedule = signed(pool.best(), instance)
    assert schedule.footer is not None
    value, certificate = (
        schedule.footer.completion_time_ps,
        schedule.footer.certificate,
    )
    proven = certificate is not None and certificate.bound == value
    reason = Reason.PROVEN_OPTIMAL if proven else Reason.STOPPED_WITH_ANSWER
    bound = None if certificate is None else certificate.bound
    return Outcome(
        reason=reason,
        incumbent=Synthesis(schedule, pool.compared()),
        objective=value,
        bound=bound,
        limit=None,
        provenance=None,
    )


def _refuse_unsound(instance: Instance) -> None:
    """Raise if the task is none, or not one for the fabric's nodes."""
    task, nodes = instance.communication, instance.fabric.node_count
    if isinstance(task, Collective):
        check_collective(task, nodes, f"{instance.name}: collective")
        return
    for fault in task_rules.check(task, nodes):
        raise InputError(fault.message, where=f"{instance.name}: {fault.resource}")


def _enter_all(pool: CandidatePool, schedules: Iterable[Schedule]) -> None:
    """Enter schedules that a fabric's own synthesiser has made."""
    instance = pool.instance
    bound = lower_bound(instance.fabric, instance.communication)
    least_ps = 0 if bound is None else bound.bound
    for schedule in schedules:
        made = schedule.algorithm
        pool.say(f"replaying {made.name}")
        candidate = Candidate(made.name, made.parameters, GIVEN, least_ps)
        pool.enter_schedule(candidate, schedule)
