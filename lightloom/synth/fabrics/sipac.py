"""SiPAC: algorithms whose transfers go one hop, on the best wavelengths for them."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.schedule import Algorithm, Schedule
from lightloom.core.task import Collective
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.synth.algorithms import make_algorithm
from lightloom.synth.auto.search import AUTO
from lightloom.synth.chunking import choose_chunks
from lightloom.synth.demand_rounds import EDGE_COLOURING, demand_traffic
from lightloom.synth.fabrics import FabricSynthesiser
from lightloom.synth.rank_mapping import mapped_traffic, reordered
from lightloom.synth.sipac.box import box_of
from lightloom.synth.sipac.realisation import weave_sipac

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Demand, Task
    from lightloom.instances.instance import Instance
    from lightloom.synth.traffic import TrafficRound

Proposal: TypeAlias = tuple[str, dict[str, object]]

_SHAPED = ("level-trees", "levels", "torus-rings")
_RINGS = ("all-gather", "all-reduce", "reduce-scatter")
_MOST_ROWS = 2**21
"""Transfers of a plan beyond which whole blocks are preferred to parts of them."""
_MOST_PIECES = 256


def schedules(
    instance: Instance, algorithm: str, parameters: Mapping[str, object], seed: int
) -> Iterator[Schedule]:
    """Yield schedules for a collective or a demand on SiPAC, without footers.

    ``auto`` compares `levels` with one part and with as many as there are levels,
    rings along the levels, and for broadcast and reduce the way through blocks and
    pipelined trees. Any other algorithm of the catalogue will do whose transfers all
    go one hop; `levels`, `level-trees` and `torus-rings` get their shape from the nodes
    if none is given.

    Raises
    ------
    InputError
        An unknown algorithm or parameter, one that does not do the task, transfers of
        more than one hop, or nodes that no algorithm fits.
    InfeasibleError
        A demand between nodes that share no switch, or nodes that nothing joins.
    """
    fabric, task = instance.fabric, instance.communication
    assert isinstance(fabric, Sipac)
    if not isinstance(task, Collective):
        yield _demand(fabric, task, algorithm, parameters, seed)
        return
    order, shape = box_of(fabric, task.nodes)
    dimensions = sum(size > 1 for size in shape)
    proposed: Sequence[Proposal] = [(algorithm, dict(parameters))]
    if algorithm == AUTO:
        if parameters:
            what = "auto takes no parameters"
            raise InputError(what, where="parameters", found=sorted(parameters))
        proposed = list(_proposals(fabric, task, dimensions))
    for name, given in proposed:
        if name in _SHAPED:
            given.setdefault("shape", list(shape))
        made = make_algorithm(name, given, op=task.op)
        granularity = made.granularity(task.rank_count, fabric.ports_per_node)
        chunked = choose_chunks(task, granularity)
        plan = made.plan(reordered(chunked, order), fabric.ports_per_node)
        rounds = mapped_traffic(plan, chunked)
        _require_one_hop(fabric, rounds, name, shape)
        yield _woven(fabric, chunked, rounds, Algorithm(name, _plain(given), seed))


def _proposals(fabric: Sipac, task: Collective, dimensions: int) -> Iterator[Proposal]:
    """Yield algorithms with their parameters, the shape left out."""
    parts = sorted({1, max(1, dimensions)})
    # In the last rounds a rank may move a row for every part of most blocks.
    blocks = task.op in ("all-gather", "all-to-all", "reduce-scatter")
    if blocks and task.rank_count**2 * parts[-1] > _MOST_ROWS:
        parts = parts[:1]
        if task.rank_count**2 <= _MOST_ROWS:
            yield "levels", {"dealt": 1}
    for number in reversed(parts):
        yield "levels", {"parts": number}
        if task.op in ("broadcast", "reduce"):
            yield "levels", {"parts": number, "through_blocks": 1}
        if task.op in _RINGS:
            yield "torus-rings", {"parts": number}
    # The shuffle gives a pair all wavelengths of a port only where there is one pair.
    whole_port = fabric.switching == "tunable" or fabric.radix == 2
    if task.op in ("broadcast", "reduce") and whole_port:
        chains = int(task.op == "reduce")
        hops = dimensions * (fabric.radix - 1 if chains else 1)
        yield "level-trees", {"pieces": _pieces(fabric, task, hops), "chains": chains}


def _pieces(fabric: Sipac, task: Collective, hops: int) -> int:
    """Return into how many pieces a pipeline of hops, and one, best cuts a buffer.

    k pieces take k + h times alpha and a k-th of t, what the whole takes at the rate
    of a node: least at k = sqrt(h t / alpha).
    """
    whole_ps = transmission_ps(task.buffer_bytes, fabric.node_bits_per_s)
    ideal = isqrt(hops * whole_ps // max(fabric.alpha_ps, 1))
    return min(max(ideal, 1), _MOST_PIECES)


def _demand(
    fabric: Sipac,
    demand: Demand,
    algorithm: str,
    parameters: Mapping[str, object],
    seed: int,
) -> Schedule:
    """Return the schedule of a demand, every pair served over its switch."""
    if parameters:
        what = "algorithms for demands take no parameters"
        raise InputError(what, where="parameters", found=sorted(parameters))
    name = EDGE_COLOURING if algorithm == AUTO else algorithm
    rounds = demand_traffic(name, demand, fabric.ports_per_node, seed)
    src, dst = (np.array(ends, dtype=np.int64) for ends in (demand.src, demand.dst))
    far = np.flatnonzero(fabric.level_of(src, dst) < 0)
    if len(far):
        raise InfeasibleError(
            "no switch has both nodes, and the bytes of a demand are not forwarded",
            where="demand",
            found=f"{src[far[0]]} -> {dst[far[0]]}",
            fix="state the task as a collective, for example all-to-all",
        )
    return _woven(fabric, demand, rounds, Algorithm(name, {}, seed))


def _woven(
    fabric: Sipac, task: Task, rounds: Sequence[TrafficRound], made: Algorithm
) -> Schedule:
    woven = weave_sipac(fabric, rounds)
    return Schedule(fabric.table(), task, made, woven.segments, woven.parts)


def _require_one_hop(
    fabric: Sipac, rounds: Sequence[TrafficRound], name: str, shape: tuple[int, ...]
) -> None:
    """Raise if some transfer is between nodes that share no switch."""
    for one in rounds:
        src, dst = one.transfers.src, one.transfers.dst
        far = np.flatnonzero(fabric.level_of(src, dst) < 0)
        if len(far):
            raise InputError(
                f"{name} sends between nodes that share no switch",
                where="algorithm",
                found=f"{src[far[0]]} -> {dst[far[0]]}",
                allowed="transfers of one hop",
                fix=f"use levels, or radices={','.join(map(str, shape))}",
            )


def _plain(parameters: dict[str, object]) -> dict[str, ParameterValue]:
    return cast("dict[str, ParameterValue]", dict(sorted(parameters.items())))


SYNTHESISER = FabricSynthesiser("sipac", schedules)
