"""The search of `auto` for the fastest schedule, best first by proven predictions."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from lightloom.core.errors import InfeasibleError, InputError, NoAnswerError
from lightloom.core.schedule import Algorithm, Schedule
from lightloom.core.task import Collective, Demand
from lightloom.plans.algorithms import ALGORITHMS, make_algorithm, proposed
from lightloom.plans.plan import Outlined
from lightloom.replay import replay
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.demand_rounds import demand_traffic
from lightloom.synth.fabrics.plug import MadeSchedule
from lightloom.synth.rank_mapping import GIVEN_ORDER, mapped_traffic, reordered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lightloom.core.errors import LightloomError
    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Task
    from lightloom.instances.instance import Instance
    from lightloom.plans.algorithms import CollectiveAlgorithm
    from lightloom.synth.bounds import LowerBounds
    from lightloom.synth.fabrics.realiser import Arrangement, Realiser
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.traffic import TrafficRound


@dataclass(frozen=True)
class Candidate:
    """One algorithm in a comparison.

    `algorithm`, `parameters`, `mapping`: what it is; `mapping` is the order of nodes
    that plays its ranks. `predicted_ps`: lower bound on the completion time, before
    anything was realised. `completion_time_ps`: what replay says; ``None`` where the
    prediction alone ruled it out. `reconfigurations`: how often the fabric is
    reconfigured; ``None`` where it was not realised.
    """

    algorithm: str
    parameters: dict[str, ParameterValue]
    mapping: str
    predicted_ps: int
    completion_time_ps: int | None = None
    reconfigurations: int | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from other candidates."""
        return self.algorithm, str(self.parameters), self.mapping

    @property
    def order(self) -> tuple[bool, int]:
        """What is less for a faster candidate, and for one that was realised."""
        time_ps = self.completion_time_ps
        return time_ps is None, time_ps or self.predicted_ps


@dataclass(eq=False)
class CandidatePool:
    """Replays the schedules of candidates, and keeps the fastest.

    The only mutable record of a synthesis: what has been compared so far.

    `progress`: told in words what is being done.
    """

    progress: Callable[[str], None] | None = None
    _candidates: dict[tuple[str, str, str], Candidate] = field(default_factory=dict)
    _best: tuple[Candidate, MadeSchedule] | None = None

    def say(self, text: str) -> None:
        """Tell the user what is being done."""
        if self.progress is not None:
            self.progress(text)

    def pass_over(self, candidate: Candidate) -> None:
        """Record a candidate that is not realised, or cannot be."""
        self._candidates.setdefault(candidate.key, candidate)

    def enter(self, candidate: Candidate, made: MadeSchedule) -> None:
        """Replay a candidate's schedule, and keep it if it is the best so far.

        Of several schedules of a candidate the fastest is compared with others.
        """
        timeline = replay(made.schedule)
        entered = replace(
            candidate,
            completion_time_ps=timeline.completion_time_ps,
            reconfigurations=len(timeline.reconfigurations),
        )
        known = self._candidates.get(entered.key)
        if known is None or entered.order < known.order:
            self._candidates[entered.key] = entered
        best_ps = self.best_ps()
        if best_ps is None or timeline.completion_time_ps < best_ps:
            self._best = (entered, made)

    def best_ps(self) -> int | None:
        """Return the completion time of the best candidate so far, if any."""
        return None if self._best is None else self._best[0].completion_time_ps

    def best(self) -> MadeSchedule:
        """Return the best schedule.

        Raises `RuntimeError`: nothing was entered.
        """
        if self._best is None:
            message = "no candidate has been realised yet"
            raise RuntimeError(message)
        return self._best[1]

    def compared(self) -> tuple[Candidate, ...]:
        """Return the candidates, fastest first, those only predicted last."""
        every = self._candidates.values()
        return tuple(sorted(every, key=lambda one: (*one.order, *one.key)))


AUTO = "auto"

_MOST_REALISED = 12
"""Candidates after which the search ends where waveguides are so few that bounds say
little; the baselines are realised all the same."""

_WELL_ABOVE = 1.02
"""Value over bound up to which a collective is not divided among configurations too."""

Proposal: TypeAlias = "tuple[str, dict[str, object]]"
"""Name of an algorithm and its parameters."""
_TaskTraffic: TypeAlias = "tuple[Collective, tuple[TrafficRound, ...]]"


@dataclass(frozen=True)
class _Entrant:
    """A proposal in one order of nodes, with what is known of its completion time.

    `planned` where its rounds have been looked at, and `tight` where no better
    prediction is to be had.
    """

    proposal: Proposal
    mapping: str
    least_ps: int
    planned: bool
    tight: bool


@dataclass(eq=False)
class CandidateSearch:
    """Enters the candidates for a task into a pool.

    `realiser`: puts rounds on the fabric. `bounds`: what no schedule of the task can
    beat.
    """

    instance: Instance
    realiser: Realiser[Any]
    pool: CandidatePool
    bounds: LowerBounds
    # The traffic made last: what is predicted is often realised next.
    _last: tuple[object, _TaskTraffic] | None = field(default=None, init=False)

    def run(self, algorithm: str, parameters: dict[str, object]) -> None:
        """Enter the candidates for the task.

        For ``auto`` and a collective, every proposal has a lower bound on its
        completion time. The one with the least is taken: its bound is tightened by
        what the waveguides allow, in every order of nodes; once tight, it is realised
        and replayed. When no bound left is below the best replay, or a bound on all
        schedules is not, the best is the best of all. A named algorithm is searched in
        the same way, with no rivals but its orders. Proposals that find no circuits are
        passed over if others do.

        Raises `InputError`: parameters that nobody takes; an algorithm that is unknown,
        does not do the task, or sends what the fabric does not carry; `InfeasibleError,
        NoAnswerError`: no candidate finds circuits.
        """
        if isinstance(self.instance.task, Demand):
            self._demand(algorithm, parameters)
        else:
            self._collective(algorithm, parameters)

    @property
    def _task(self) -> Collective:
        task = self.instance.task
        assert isinstance(task, Collective)
        return task

    @cached_property
    def _arrangement(self) -> Arrangement:
        return self.realiser.arrange(self._task)

    def _demand(self, algorithm: str, parameters: dict[str, object]) -> None:
        demand = self.instance.task
        assert isinstance(demand, Demand)
        if parameters:
            what = "algorithms for demands take no parameters"
            raise InputError(what, where="parameters", found=sorted(parameters))
        names = self.realiser.demand_algorithms if algorithm == AUTO else (algorithm,)
        ports, seed = self.realiser.demand_ports, self.realiser.seed
        for name in names:
            candidate = Candidate(name, {}, GIVEN_ORDER, self.bounds.quick_ps)
            self.pool.say(f"realising {name}")
            if name in self.realiser.divided_demands:
                self._divided(candidate, demand)
                continue
            rounds = demand_traffic(name, demand, ports, seed)
            if self.realiser.predicts:
                least_ps = self.realiser.least_ps(rounds, cuts=False)
                candidate = replace(candidate, predicted_ps=least_ps)
            self._enter(candidate, demand, rounds)

    def _divided(self, candidate: Candidate, demand: Demand) -> None:
        """Enter the schedules of an algorithm of the fabric's own."""
        limit_ps = self.pool.best_ps() or math.inf
        name = candidate.algorithm
        try:
            for realised in self.realiser.divided(name, demand, limit_ps):
                self._enter_realised(candidate, demand, realised)
        except (InfeasibleError, NoAnswerError):
            if self.pool.best_ps() is None:
                raise
            self.pool.pass_over(candidate)

    def _collective(self, algorithm: str, parameters: dict[str, object]) -> None:
        if algorithm == AUTO and parameters:
            what = "auto takes no parameters"
            raise InputError(what, where="parameters", found=sorted(parameters))
        proposals: Iterable[Proposal] = ((algorithm, parameters),)
        if algorithm == AUTO:
            setting = self.realiser.setting(self._task, self._arrangement)
            proposals = proposed(setting, self.pool.say)
        entrants = list(self._entrants(proposals))
        queue = [(entrant.least_ps, place) for place, entrant in enumerate(entrants)]
        heapq.heapify(queue)
        tried = 0
        failed: LightloomError | None = None
        while queue:
            least_ps, place = heapq.heappop(queue)
            entrant = entrants[place]
            best_ps = self.pool.best_ps()
            least_ps = max(least_ps, self.bounds.quick_ps)
            ruled_out = best_ps is not None and least_ps >= best_ps
            kept = entrant.mapping == GIVEN_ORDER and self._always(entrant)
            if ruled_out or (entrant.tight and tried >= _MOST_REALISED and not kept):
                self.pool.pass_over(_candidate(entrant))
                continue
            try:
                if not entrant.tight:
                    first, *others = self._looked_into(entrant)
                    entrants[place] = first
                    heapq.heappush(queue, (first.least_ps, place))
                    for other in others:
                        heapq.heappush(queue, (other.least_ps, len(entrants)))
                        entrants.append(other)
                    continue
                tried += 1
                chunked, rounds = self._traffic(
                    entrant.proposal, entrant.mapping, shared=True
                )
                self._enter(_candidate(entrant), chunked, rounds)
            except (InfeasibleError, InputError, NoAnswerError) as problem:
                self.pool.pass_over(_candidate(entrant))
                failed = failed or problem
        if failed is not None and self.pool.best_ps() is None:
            raise failed
        self._divided_collective(algorithm)

    def _always(self, entrant: _Entrant) -> bool:
        return ALGORITHMS.get(entrant.proposal[0]).always

    def _divided_collective(self, algorithm: str) -> None:
        """Enter the collective as the fabric divides it among configurations."""
        best_ps = self.pool.best_ps()
        if algorithm != AUTO or best_ps is None or not self.realiser.divided_demands:
            return
        bound = self.bounds.best(best_ps)
        if bound is not None and best_ps <= bound.bound * _WELL_ABOVE:
            return
        for name in self.realiser.divided_demands:
            candidate = Candidate(name, {}, GIVEN_ORDER, self.bounds.quick_ps)
            for chunked, realised in self.realiser.divided_collective(self._task):
                self._enter_realised(candidate, chunked, realised)

    def _entrants(self, proposals: Iterable[Proposal]) -> Iterator[_Entrant]:
        """Yield the proposals with what their outlines say, where they have any.

        Where the fabric predicts nothing, in every order of nodes, with the same bound.
        """
        for name, given in proposals:
            proposal = name, dict(given)
            takes_shape = "shape" in ALGORITHMS.get(name).make.__struct_fields__
            if takes_shape and self._arrangement.shape:
                proposal[1].setdefault("shape", list(self._arrangement.shape))
            if self.realiser.predicts:
                least_ps = self._outlined_ps(proposal)
                yield _Entrant(
                    proposal, GIVEN_ORDER, least_ps, planned=False, tight=False
                )
                continue
            for mapping in self._arrangement.orders:
                yield _Entrant(
                    proposal, mapping, self.bounds.quick_ps, planned=True, tight=True
                )

    def _outlined_ps(self, proposal: Proposal) -> int:
        """Return a lower bound on the completion time, before rounds are made."""
        name, parameters = proposal
        task, ports = self._task, self.realiser.ports
        try:
            maker = make_algorithm(name, parameters, op=task.op)
        except InputError:
            return 0  # is raised again, where it counts, when rounds are made
        if not isinstance(maker, Outlined):
            return 0
        rounds = maker.outline(task.rank_count, ports, task.op)
        return self.realiser.outlined_ps(rounds, task.buffer_bytes)

    def _looked_into(self, entrant: _Entrant) -> Iterator[_Entrant]:
        """Yield an entrant with its rounds looked at, or with waveguides counted."""
        if entrant.planned:
            yield from self._tightened(entrant)
        else:
            yield self._predicted(entrant)

    def _predicted(self, entrant: _Entrant) -> _Entrant:
        """Return an entrant predicted as if waveguides were plenty."""
        self.pool.say(f"predicting {_label(*entrant.proposal)}")
        _, rounds = self._traffic(entrant.proposal, GIVEN_ORDER)
        least_ps = self.realiser.least_ps(rounds, cuts=False)
        return replace(entrant, least_ps=least_ps, planned=True)

    def _tightened(self, entrant: _Entrant) -> Iterator[_Entrant]:
        """Yield an entrant with waveguides counted, in every order that may help."""
        for mapping in self._arrangement.orders:
            _, rounds = self._traffic(entrant.proposal, mapping)
            least_ps = self.realiser.least_ps(rounds, cuts=True)
            yield replace(entrant, mapping=mapping, least_ps=least_ps, tight=True)
            if mapping == GIVEN_ORDER and least_ps <= entrant.least_ps:
                return

    def _traffic(
        self, proposal: Proposal, mapping: str, *, shared: bool = False
    ) -> _TaskTraffic:
        """Return the task with its chunks chosen, and a proposal's rounds for it.

        If `shared`, chunks are such that circuits on several planes can share them.
        """
        asked = proposal, mapping
        if self._last is None or self._last[0] != asked:
            self._last = None  # may be large: gone before the next one is made
            self._last = asked, self._planned(*asked)
        if shared and self._task.chunks is None:
            pieces = self.realiser.pieces(self._last[1][1])
            if pieces > 1:
                self._last = None
                return self._planned(*asked, pieces)
        return self._last[1]

    def _planned(
        self, proposal: Proposal, mapping: str, pieces: int = 1
    ) -> _TaskTraffic:
        name, parameters = proposal
        task, ports = self._task, self.realiser.ports
        made = make_algorithm(name, parameters, op=task.op)
        maker = self.realiser.fitted(made, task)
        granularity = maker.granularity(task.rank_count, ports)
        chunked = choose_chunks(task, pieces * granularity)
        order = self._arrangement.orders[mapping]
        rounds = planned_traffic(maker, chunked, order, ports)
        self.realiser.check(rounds, name, self._arrangement)
        return chunked, rounds

    def _enter(
        self, candidate: Candidate, task: Task, rounds: Sequence[TrafficRound]
    ) -> None:
        """Realise a candidate's rounds, and enter the schedule."""
        self.pool.say(f"realising {_label(candidate.algorithm, candidate.parameters)}")
        self._enter_realised(candidate, task, self.realiser.realise(rounds))

    def _enter_realised(
        self, candidate: Candidate, task: Task, realised: Realisation
    ) -> None:
        """Enter the schedule of a candidate."""
        parameters = dict(candidate.parameters)
        if candidate.mapping != GIVEN_ORDER:
            parameters["mapping"] = candidate.mapping
        parameters |= self.realiser.parameters
        algorithm = Algorithm(candidate.algorithm, parameters, self.realiser.seed)
        table = self.instance.fabric.table()
        self.pool.enter(
            candidate,
            MadeSchedule(
                Schedule(table, task, algorithm, realised.segments, realised.parts)
            ),
        )


def planned_traffic(
    maker: CollectiveAlgorithm, task: Collective, order: tuple[int, ...], ports: int
) -> tuple[TrafficRound, ...]:
    """Return the rounds of an algorithm for a collective, between nodes."""
    plan = maker.plan(reordered(task, order), ports)
    return mapped_traffic(plan, task)


def _candidate(entrant: _Entrant) -> Candidate:
    name, parameters = entrant.proposal
    plain = cast("dict[str, ParameterValue]", dict(sorted(parameters.items())))
    return Candidate(name, plain, entrant.mapping, entrant.least_ps)


def _label(name: str, parameters: dict[str, Any]) -> str:
    return " ".join(
        [str(name), *(f"{key}={value}" for key, value in parameters.items())]
    )
