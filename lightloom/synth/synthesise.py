"""From an instance to a schedule: plan, choose, realise, replay, certify."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.fabric import CircuitFabric
from lightloom.core.outcome import Outcome, Reason, Summarised
from lightloom.core.record import plain
from lightloom.core.seed import checked_seed
from lightloom.core.task import Collective, Demand
from lightloom.core.units import format_ps
from lightloom.instances.collectives import check_collective
from lightloom.instances.instance import AnyFabric, Instance
from lightloom.routing import ROUTERS, require_router
from lightloom.synth.auto import AUTO, Candidate, CandidatePool, CandidateSearch
from lightloom.synth.bounds import LowerBounds
from lightloom.synth.demand_algorithms import ON_DEMANDS
from lightloom.synth.demand_rounds import RELAYS
from lightloom.synth.fabrics import plug_of, realiser_of
from lightloom.synth.fabrics.plug import MadeSchedule
from lightloom.synth.publish import signed
from lightloom.synth.rank_mapping import GIVEN_ORDER
from lightloom.synth.relays.schedules import relayed_schedules, require_two_circuits
from lightloom.validate.checks import task as task_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lightloom.core.certificate import Certificate
    from lightloom.core.errors import LightloomError
    from lightloom.core.schedule import Schedule, SealedSchedule


@dataclass(frozen=True, eq=False, repr=False)
class Synthesis(Summarised):
    """A schedule, and what it was compared with.

    Attributes
    ----------
    schedule
        The best found, its footer filled in.
    compared
        Every candidate that was realised or predicted, fastest first.
    """

    schedule: SealedSchedule
    compared: tuple[Candidate, ...]

    def facts(self) -> Mapping[str, object]:
        """Return what was made, how long it takes, and what is proven of it."""
        proven = self.certificate
        return {
            "algorithm": self.schedule.algorithm.name,
            "completion_time_ps": self.completion_time_ps,
            "time": format_ps(self.completion_time_ps),
            "bound_ps": None if proven is None else proven.bound,
            "steps": self.schedule.footer.steps,
            "compared": len(self.compared),
        }

    @property
    def completion_time_ps(self) -> int:
        """Completion time of the schedule, by replay."""
        return self.schedule.footer.completion_time_ps

    @property
    def certificate(self) -> Certificate | None:
        """What no schedule of the task can beat, if anything is proven."""
        return self.schedule.footer.certificate


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
        Parameters of a named algorithm; numbers and arrays of NumPy serve.
    seed
        Seed of everything random, 0 to 2**63 - 1; the result is a function of the
        arguments.
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
        Unknown algorithm, parameter or router; an invalid seed; an algorithm that
        cannot do the task.
    InfeasibleError
        If the fabric cannot serve the task at all.
    """
    require_router(router)
    seed = checked_seed(seed)
    told = _plain_parameters(parameters)
    _refuse_unsound(instance)
    pool = CandidatePool(progress)
    bounds = LowerBounds(instance.fabric, instance.communication, pool.say)
    if isinstance(instance.task, Demand) and algorithm in (AUTO, RELAYS):
        _enter_demand(pool, instance, bounds, algorithm, told, seed, router)
    else:
        _enter_candidates(pool, instance, bounds, algorithm, told, seed, router)
    best = pool.best()
    schedule = signed(best.schedule, instance, best.certificates, bounds)
    return _outcome(Synthesis(schedule, pool.compared()))


def _plain_parameters(parameters: Mapping[str, object] | None) -> dict[str, object]:
    """Return parameters without NumPy's types, or raise if they are no mapping."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InputError(
            "not parameters",
            where="parameters",
            found=parameters,
            allowed="values by name, for example {'radices': [4, 4]}",
        )
    return {name: plain(value) for name, value in (parameters or {}).items()}


def _enter_candidates(
    pool: CandidatePool,
    instance: Instance,
    bounds: LowerBounds,
    algorithm: str,
    parameters: dict[str, object],
    seed: int,
    router: str,
) -> None:
    """Enter what the plug of a fabric makes, or puts on its circuits."""
    plug = plug_of(instance.fabric)
    alone = plug.realiser is None
    if plug.schedules is not None and (alone or plug.own(instance, algorithm)):
        made = plug.schedules(instance, algorithm, parameters, seed)
        _enter_all(pool, bounds.quick_ps, made)
        if alone or algorithm != AUTO or not plug.compared(instance):
            return
    if algorithm in ON_DEMANDS and isinstance(instance.task, Collective):
        raise InputError(
            "this algorithm serves demands, not collectives",
            where="algorithm",
            found=algorithm,
            fix="`lightloom algorithms` lists what serves which collective",
        )
    realiser = realiser_of(instance.fabric, seed, router)
    CandidateSearch(instance, realiser, pool, bounds).run(algorithm, parameters)


def _enter_demand(
    pool: CandidatePool,
    instance: Instance,
    bounds: LowerBounds,
    algorithm: str,
    parameters: dict[str, object],
    seed: int,
    router: str,
) -> None:
    """Enter what serves a demand straight, and over relays where it allows them."""
    demand, fabric = instance.task, instance.fabric
    assert isinstance(demand, Demand)
    problem: LightloomError | None = None
    if algorithm == RELAYS:
        _refuse_relays(fabric, demand, parameters)
        what = "no circuits are found by which bytes of all pairs take two at most"
        problem = NoAnswerError(what, where=f"algorithm {RELAYS}", fix="use `auto`")
    else:
        try:
            _enter_candidates(pool, instance, bounds, AUTO, parameters, seed, router)
        except (InfeasibleError, NoAnswerError) as found:
            problem = found
    if demand.relays and isinstance(fabric, CircuitFabric):
        realiser = realiser_of(fabric, seed, router)
        require_two_circuits(realiser, demand)

        def serve(part: Demand) -> Schedule:
            own, task = CandidatePool(), Instance(fabric, part, instance.name)
            known = LowerBounds(fabric, part)
            _enter_candidates(own, task, known, AUTO, {}, seed, router)
            return own.best().schedule

        best_ps = pool.best_ps() or math.inf
        made = relayed_schedules(realiser, demand, serve, best_ps)
        _enter_all(pool, bounds.quick_ps, map(MadeSchedule, made))
    if problem is None or pool.best_ps() is not None:
        return
    if not demand.relays or not isinstance(problem, InfeasibleError):
        raise problem
    # That no circuit serves a pair proves nothing where two may.
    raise NoAnswerError(
        f"no relays are found: {problem.what}",
        where=problem.where,
        found=problem.found,
        allowed=problem.allowed,
        fix=problem.fix,
    ) from None


def _refuse_relays(
    fabric: AnyFabric, demand: Demand, parameters: dict[str, object]
) -> None:
    """Raise where relays alone are wanted and impossible."""
    where = f"algorithm {RELAYS}"
    if parameters:
        what = "algorithms for demands take no parameters"
        raise InputError(what, where="parameters", found=sorted(parameters))
    if not isinstance(fabric, CircuitFabric):
        what, fix = "relays are between circuits", "use `auto`"
        raise InputError(what, where=where, found=f"fabric {fabric.kind!r}", fix=fix)
    if not demand.relays:
        what, fix = "the demand does not allow relays", "set `relays = true`"
        raise InputError(what, where=where, found="relays = false", fix=fix)


def _outcome(synthesis: Synthesis) -> Outcome[Synthesis]:
    """Return a synthesis with what is proven of its completion time."""
    certificate = synthesis.certificate
    bound = None if certificate is None else int(certificate.bound)
    proven = bound == synthesis.completion_time_ps
    return Outcome(
        reason=Reason.PROVEN_OPTIMAL if proven else Reason.STOPPED_WITH_ANSWER,
        incumbent=synthesis,
        objective=synthesis.completion_time_ps,
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


def _enter_all(
    pool: CandidatePool, least_ps: int, schedules: Iterable[MadeSchedule]
) -> None:
    """Enter schedules of a fabric's own algorithms."""
    for made in schedules:
        algorithm = made.schedule.algorithm
        pool.say(f"replaying {algorithm.name}")
        candidate = Candidate(
            algorithm.name, algorithm.parameters, GIVEN_ORDER, least_ps
        )
        pool.enter(candidate, made)
