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
from lightloom.synth.auto.candidate_pool import Candidate
from lightloom.synth.auto.packet_shapes import shaped_proposals
from lightloom.synth.auto.search_space import baselines, proposals
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.demand_rounds import EDGE_COLOURING, GREEDY, demand_traffic
from lightloom.synth.rank_mapping import GIVEN, mapped_traffic, mappings, reordered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lightloom.core.schedule import ParameterValue
    from lightloom.synth.auto.candidate_pool import CandidatePool
    from lightloom.synth.auto.search_space import Proposal
    from lightloom.synth.traffic import TrafficRound

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


def search(pool: CandidatePool, algorithm: str, parameters: dict[str, object]) -> None:
    """Enter the candidates for a collective into a pool.

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
    task = pool.instance.task
    assert isinstance(task, Collective)
    proposed: Iterable[Proposal] = ((algorithm, parameters),)
    if algorithm == AUTO:
        if parameters:
            what = "auto takes no parameters"
            raise InputError(what, where="parameters", found=sorted(parameters))
        proposed = (
            *shaped_proposals(pool.instance.fabric, task),
            *_family_proposals(pool, task),
        )
    entrants = list(_predicted(pool, task, proposed))
    always = {(name, GIVEN) for name in baselines(task.op)}
    queue = [(entrant.least_ps, place) for place, entrant in enumerate(entrants)]
    heapq.heapify(queue)
    woven = 0
    while queue:
        least_ps, place = heapq.heappop(queue)
        entrant = entrants[place]
        best_ps = pool.best_ps()
        ruled_out = best_ps is not None and least_ps >= best_ps
        if not ruled_out and not entrant.cuts_counted:
            first, *others = _tightened(pool, task, entrant)
            entrants[place] = first
            heapq.heappush(queue, (first.least_ps, place))
            for tighter in others:
                heapq.heappush(queue, (tighter.least_ps, len(entrants)))
                entrants.append(tighter)
            continue
        kept = (entrant.proposal[0], entrant.mapping) in always
        if ruled_out or (woven >= _MOST_WOVEN and not kept):
            pool.pass_over(_candidate(entrant))
            continue
        chunked, rounds = _traffic(pool, task, entrant.proposal, entrant.mapping)
        pool.enter(_candidate(entrant), chunked, rounds)
        woven += 1


def search_demand(
    pool: CandidatePool, algorithm: str, parameters: dict[str, object]
) -> None:
    """Enter the candidates for a demand into a pool.

    Raises
    ------
    InputError
        If there are parameters, or no such algorithm for demands.
    """
    demand = pool.instance.task
    assert isinstance(demand, Demand)
    if parameters:
        what = "algorithms for demands take no parameters"
        raise InputError(what, where="parameters", found=sorted(parameters))
    names = (EDGE_COLOURING, GREEDY) if algorithm == AUTO else (algorithm,)
    for name in names:
        rounds = demand_traffic(name, demand, pool.ports, pool.seed)
        predicted_ps = pool.predict(rounds)
        pool.enter(Candidate(name, {}, GIVEN, predicted_ps), demand, rounds)


def _family_proposals(pool: CandidatePool, task: Collective) -> Iterator[Proposal]:
    """Yield the proposals of all families that make sense on the fabric."""
    packets = isinstance(pool.instance.fabric, PacketFabric)
    rounds_of_data = pool.rounds_of(task.buffer_bytes)
    for proposal in proposals(task.op, task.rank_count, pool.ports, rounds_of_data):
        if not (packets and proposal[0] in _ONE_CONFIGURATION):
            yield proposal


def _predicted(
    pool: CandidatePool, task: Collective, proposed: Iterable[Proposal]
) -> Iterator[_Entrant]:
    """Yield the proposals with their times if waveguides were plenty."""
    for proposal in proposed:
        pool.say(f"predicting {_label(proposal)}")
        _, rounds = _traffic(pool, task, proposal, GIVEN)
        yield _Entrant(proposal, GIVEN, pool.predict(rounds), cuts_counted=False)


def _tightened(
    pool: CandidatePool, task: Collective, entrant: _Entrant
) -> Iterator[_Entrant]:
    """Yield an entrant with its waveguides counted, in every mapping that may help."""
    fabric = pool.instance.fabric
    names = mappings(fabric, task.nodes) if isinstance(fabric, Lightpath) else [GIVEN]
    for mapping in names:
        _, rounds = _traffic(pool, task, entrant.proposal, mapping)
        least_ps = pool.predict(rounds, cuts=True)
        yield _Entrant(entrant.proposal, mapping, least_ps, cuts_counted=True)
        if mapping == GIVEN and least_ps <= entrant.least_ps:
            return


def _traffic(
    pool: CandidatePool, task: Collective, proposal: Proposal, mapping: str
) -> tuple[Collective, tuple[TrafficRound, ...]]:
    """Return the task with its chunks chosen, and the rounds of a proposal for it."""
    name, parameters = proposal
    maker = make_algorithm(name, parameters, op=task.op)
    chunked = choose_chunks(task, maker.granularity(task.rank_count, pool.ports))
    order = task.nodes
    fabric = pool.instance.fabric
    if mapping != GIVEN and isinstance(fabric, Lightpath):
        order = mappings(fabric, task.nodes)[mapping]
    plan = maker.plan(reordered(chunked, order), pool.ports)
    return chunked, mapped_traffic(plan, chunked)


def _candidate(entrant: _Entrant) -> Candidate:
    name, parameters = entrant.proposal
    plain = cast("dict[str, ParameterValue]", dict(sorted(parameters.items())))
    return Candidate(name, plain, entrant.mapping, entrant.least_ps)


def _label(proposal: Proposal) -> str:
    name, parameters = proposal
    return " ".join([name, *(f"{key}={value}" for key, value in parameters.items())])
