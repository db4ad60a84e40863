"""`auto`: the fastest of all families, by best-first search on proven predictions."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lightloom.core.errors import InputError
from lightloom.core.fabric import PacketFabric
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.synth.algorithms import make_algorithm
from lightloom.synth.candidate import Candidate
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.demand import EDGE_COLOURING, GREEDY, demand_traffic
from lightloom.synth.search_space import baselines, proposals
from lightloom.synth.shapes import shaped_proposals
from lightloom.synth.weaving.mapping import GIVEN, mapped_traffic, mappings, reordered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.core.schedule import ParameterValue
    from lightloom.synth.candidate import Contest
    from lightloom.synth.search_space import Proposal
    from lightloom.synth.weaving.traffic import TrafficRound

AUTO = "auto"

# Where waveguides are so few that bounds say little, the search ends after this many
# woven candidates; the baselines are woven all the same.
_MOST_WOVEN = 12

# What these save, reconfigurations, costs nothing where there are no circuits; their
# plans are the dearest of all.
_ONE_CONFIGURATION = ("fixed-digraph", "hub-sums")


@dataclass(frozen=True)
class _Entrant:
    """A proposal in one mapping, with what is known of its completion time."""

    proposal: Proposal
    mapping: str
    least_ps: int
    cuts_counted: bool


def search(contest: Contest, algorithm: str, parameters: dict[str, object]) -> None:
    """Enter the candidates for a collective into a contest.

    For ``auto``, every proposal has a lower bound on its completion time. The one
    with the least is taken: its bound is tightened by what the waveguides allow,
    in every mapping; once tight, it is woven and replayed. When no bound left is
    below the best replay, the best is the best of all. A named algorithm is
    searched in the same way, with no rivals but its mappings.

    Raises
    ------
    InputError
        If parameters are given to ``auto``.
    """
    task = contest.instance.task
    assert isinstance(task, Collective)
    proposed: Iterable[Proposal] = ((algorithm, parameters),)
    if algorithm == AUTO:
        if parameters:
            what = "auto takes no parameters"
            raise InputError(what, where="parameters", found=sorted(parameters))
        proposed = (
            *shaped_proposals(contest.instance.fabric, task),
            *_family_proposals(contest, task),
        )
    entrants = list(_predicted(contest, task, proposed))
    always = {(name, GIVEN) for name in baselines(task.op)}
    queue = [(entrant.least_ps, place) for place, entrant in enumerate(entrants)]
    heapq.heapify(queue)
    woven = 0
    while queue:
        least_ps, place = heapq.heappop(queue)
        entrant = entrants[place]
        best_ps = contest.best_ps()
        ruled_out = best_ps is not None and least_ps >= best_ps
        if not ruled_out and not entrant.cuts_counted:
            first, *others = _tightened(contest, task, entrant)
            entrants[place] = first
            heapq.heappush(queue, (first.least_ps, place))
            for tighter in others:
                heapq.heappush(queue, (tighter.least_ps, len(entrants)))
                entrants.append(tighter)
            continue
        kept = (entrant.proposal[0], entrant.mapping) in always
        if ruled_out or (woven >= _MOST_WOVEN and not kept):
            contest.pass_over(_candidate(entrant))
            continue
        chunked, rounds = _traffic(contest, task, entrant.proposal, entrant.mapping)
        contest.enter(_candidate(entrant), chunked, rounds)
        woven += 1


def search_demand(
    contest: Contest, algorithm: str, parameters: dict[str, object]
) -> None:
    """Enter the candidates for a demand into a contest.

    Raises
    ------
    InputError
        If there are parameters, or no such algorithm for demands.
    """
    demand = contest.instance.task
    assert isinstance(demand, Demand)
    if parameters:
        what = "algorithms for demands take no parameters"
        raise InputError(what, where="parameters", found=sorted(parameters))
    names = (EDGE_COLOURING, GREEDY) if algorithm == AUTO else (algorithm,)
    for name in names:
        rounds = demand_traffic(name, demand, contest.ports, contest.seed)
        predicted_ps = contest.predict(rounds)
        contest.enter(Candidate(name, {}, GIVEN, predicted_ps), demand, rounds)


def _family_proposals(contest: Contest, task: Collective) -> Iterator[Proposal]:
    """Yield the proposals of all families that make sense on the fabric."""
    packets = isinstance(contest.instance.fabric, PacketFabric)
    rounds_of_data = contest.rounds_of(task.buffer_bytes)
    for proposal in proposals(task.op, task.rank_count, contest.ports, rounds_of_data):
        if not (packets and proposal[0] in _ONE_CONFIGURATION):
            yield proposal


def _predicted(
    contest: Contest, task: Collective, proposed: Iterable[Proposal]
) -> Iterator[_Entrant]:
    """Yield the proposals with their times if waveguides were plenty."""
    for proposal in proposed:
        contest.say(f"predicting {_label(proposal)}")
        _, rounds = _traffic(contest, task, proposal, GIVEN)
        yield _Entrant(proposal, GIVEN, contest.predict(rounds), cuts_counted=False)


def _tightened(
    contest: Contest, task: Collective, entrant: _Entrant
) -> Iterator[_Entrant]:
    """Yield an entrant with its waveguides counted, in every mapping that may help."""
    fabric = contest.instance.fabric
    names = mappings(fabric, task.nodes) if isinstance(fabric, Lightpath) else [GIVEN]
    for mapping in names:
        _, rounds = _traffic(contest, task, entrant.proposal, mapping)
        least_ps = contest.predict(rounds, cuts=True)
        yield _Entrant(entrant.proposal, mapping, least_ps, cuts_counted=True)
        if mapping == GIVEN and least_ps <= entrant.least_ps:
            return


def _traffic(
    contest: Contest, task: Collective, proposal: Proposal, mapping: str
) -> tuple[Collective, tuple[TrafficRound, ...]]:
    """Return the task with its chunks chosen, and the rounds of a proposal for it."""
    name, parameters = proposal
    maker = make_algorithm(name, parameters, op=task.op)
    chunked = choose_chunks(task, maker.granularity(task.rank_count, contest.ports))
    order = task.nodes
    fabric = contest.instance.fabric
    if mapping != GIVEN and isinstance(fabric, Lightpath):
        order = mappings(fabric, task.nodes)[mapping]
    plan = maker.plan(reordered(chunked, order), contest.ports)
    return chunked, mapped_traffic(plan, chunked)


def _candidate(entrant: _Entrant) -> Candidate:
    name, parameters = entrant.proposal
    plain = cast("dict[str, ParameterValue]", dict(sorted(parameters.items())))
    return Candidate(name, plain, entrant.mapping, entrant.least_ps)


def _label(proposal: Proposal) -> str:
    name, parameters = proposal
    return " ".join([name, *(f"{key}={value}" for key, value in parameters.items())])
