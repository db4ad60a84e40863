"""The plug of RAMP, whose collectives `lightloom.synth.ramp` makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.errors import InputError, nearest
from lightloom.core.record import convert
from lightloom.core.task import Collective
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.plans.algorithms import ALGORITHMS
from lightloom.synth.auto import AUTO
from lightloom.synth.demand_columns import demand_columns
from lightloom.synth.demand_configurations.lanes import LaneWays
from lightloom.synth.demand_rounds import (
    CONFIGURATIONS,
    DEMAND_ALGORITHMS,
    EDGE_COLOURING,
)
from lightloom.synth.fabrics.plug import FabricPlug, MadeSchedule
from lightloom.synth.fabrics.realiser import Realiser
from lightloom.synth.ramp.node_box import MOST_ROWS
from lightloom.synth.ramp.realisation import least_round_ps, lines_of, realise_ramp
from lightloom.synth.ramp.schedules import NAME, most_ranks, serves, ways
from lightloom.synth.ramp.shift_trees import TreeCollective
from lightloom.synth.relays.pair_lines import PairLines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lightloom.core.columns import IntArray, Ragged
    from lightloom.core.task import Demand
    from lightloom.instances.instance import Instance
    from lightloom.plans.plan import RoundOutline
    from lightloom.synth.realisation import Realisation
    from lightloom.synth.traffic import TrafficRound

_ON_DEMANDS = (*DEMAND_ALGORITHMS, CONFIGURATIONS)
_FEW_RANKS = 128
"""Ranks up to which the catalogue is compared with RAMP's own ways too."""


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the algorithm ``ramp``.

    `strategy`: ``steps``, ``spread``; ``exchange``, ``hubs`` (all-reduce), ``whole``,
    ``rarest-first`` (reduce), ``relayed``, ``two-phase``, ``three-phase``,
    ``four-phase``, ``direct`` (all-to-all), ``tree`` (broadcast), ``classes``
    (scatter); by default the fastest.
    """

    strategy: str | None = None


_MOST_MOVED = 2 * MOST_ROWS
"""Rows of a schedule along a tree: two sweeps, each of what may be kept as a whole."""


class RampRealiser(Realiser[Ramp]):
    """Gives transceivers to the pairs of rounds.

    For nodes that no steps of RAMP serve, for demands, and for algorithms of the
    catalogue that are asked for by name.
    """

    demand_algorithms = (EDGE_COLOURING, CONFIGURATIONS)
    divided_demands = (CONFIGURATIONS,)
    predicts = True

    @property
    def ports(self) -> int:
        """A transceiver each."""
        return self.fabric.ports_per_node

    def outlined_ps(self, rounds: Sequence[RoundOutline], buffer_bytes: int) -> int:
        """Return what a rank with all streams of each round takes for them."""
        fabric, sent = self.fabric, [each.streams * each.share for each in rounds]
        return self._first_ps(rounds) + sum(
            fabric.alpha_ps
            + transmission_ps(int(buffer_bytes * share), fabric.node_bits_per_s)
            for share in sent
            if share
        )

    def _first_ps(self, rounds: Sequence[object]) -> int:
        """Return the first reconfiguration, where it counts."""
        charged = rounds and self.fabric.initial_configuration_charged
        return self.fabric.reconfiguration_ps if charged else 0

    def least_ps(self, rounds: Sequence[TrafficRound], *, cuts: bool) -> int:
        """Return what the fullest lines of all rounds take: see `least_round_ps`."""
        del cuts
        return self._first_ps(rounds) + sum(
            least_round_ps(self.fabric, one) for one in rounds
        )

    def lines(self, src: IntArray, dst: IntArray) -> list[PairLines]:
        """Return subnets, sources and destinations."""
        once, rate = np.ones_like(src), self.fabric.node_bits_per_s
        return [PairLines(one, once, rate) for one in lines_of(self.fabric, src, dst)]

    def lane_ways(self, demand: Demand) -> LaneWays | None:
        """Return a way for each pair, whose lanes are transceivers."""
        fabric = self.fabric
        src, dst, size_bytes = demand_columns(demand, fabric.node_count)

        def light(way: IntArray, lanes: Ragged) -> Circuits:
            row = way[lanes.row_of_value]
            return Circuits(src[row], dst[row], transceiver=lanes.values)

        return LaneWays(
            fabric=fabric,
            src=src,
            dst=dst,
            size_bytes=size_bytes,
            pair=np.arange(len(src)),
            lanes=np.full(len(src), fabric.groups),
            bits_per_s=fabric.transceiver_bits_per_s,
            light=light,
        )

    def realise(self, rounds: Sequence[TrafficRound]) -> Realisation:
        """Return segments and steps that carry rounds."""
        return realise_ramp(self.fabric, rounds)


def own(instance: Instance, algorithm: str) -> bool:
    """Tell whether RAMP's own algorithm makes the schedule.

    Returns not for algorithms of the catalogue, and for ``auto`` neither for demands
    nor for nodes that RAMP's own algorithm does not serve.

    Raises `InputError` if there is no such algorithm.
    """
    fabric, task = instance.fabric, instance.communication
    assert isinstance(fabric, Ramp)
    collective = isinstance(task, Collective)
    others = ALGORITHMS if collective else _ON_DEMANDS
    if algorithm not in (AUTO, NAME, *others):
        what, known = "unknown algorithm on RAMP", (AUTO, NAME, *others)
        raise InputError(
            what,
            where="algorithm",
            found=algorithm,
            allowed=", ".join(known),
            fix=nearest(algorithm, known),
        )
    if algorithm == AUTO:
        return isinstance(task, Collective) and serves(fabric, task)
    return algorithm == NAME


def _compared(instance: Instance) -> bool:
    """Tell whether few enough nodes communicate for a search of the catalogue."""
    task = instance.communication
    return isinstance(task, Collective) and task.rank_count <= _FEW_RANKS


def schedules(
    instance: Instance, algorithm: str, parameters: Mapping[str, object], seed: int
) -> Iterator[MadeSchedule]:
    """Yield a schedule for each way to do a collective: see `FabricPlug`.

    Raises
    ------
    InputError
        Invalid parameters, a demand, or a collective that is too large, or that this
        algorithm cannot do on these nodes.
    """
    fabric, task = instance.fabric, instance.communication
    assert isinstance(fabric, Ramp)
    if algorithm == AUTO and parameters:
        what = "auto takes no parameters"
        raise InputError(what, where="parameters", found=sorted(parameters))
    if not isinstance(task, Collective):
        what = "RAMP's own algorithm does collectives, not demands"
        allowed = ", ".join((AUTO, *_ON_DEMANDS))
        where = f"{instance.name}: demand"
        raise InputError(what, where=where, found=algorithm, allowed=allowed)
    _check_size(instance.name, fabric, task)
    wanted = convert(dict(parameters), Parameters, where=f"algorithm.{NAME}")
    kept = False
    for way in ways(fabric, task, wanted.strategy):
        if isinstance(way.plan, TreeCollective) and way.plan.blocks_moved > _MOST_MOVED:
            continue
        kept = True
        yield MadeSchedule(way.schedule(seed))
    if not kept:
        what = f"too many nodes for a schedule along a tree of {task.op}"
        where = f"{instance.name}: collective.nodes"
        fix = "leave the strategy out, or use `lightloom ramp check`, which streams"
        raise InputError(what, where=where, found=task.rank_count, fix=fix)


def _check_size(name: str, fabric: Ramp, task: Collective) -> None:
    """Raise if the schedule would be too large to keep."""
    most = most_ranks(fabric, task.op)
    if task.rank_count > most:
        raise InputError(
            f"too many nodes for a schedule file of {task.op}",
            where=f"{name}: collective.nodes",
            found=task.rank_count,
            allowed=f"at most {most}",
            fix="use `lightloom ramp check`, which streams",
        )


PLUG = FabricPlug[Ramp](
    "ramp",
    realiser=RampRealiser,
    schedules=schedules,
    own=own,
    compared=_compared,
)
