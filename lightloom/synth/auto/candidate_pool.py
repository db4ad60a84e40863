"""Candidates: algorithms that compete for an instance, and how they compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.errors import InputError
from lightloom.core.fabric import PacketFabric
from lightloom.core.schedule import Algorithm, Schedule
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S, transmission_ps
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.replay import replay
from lightloom.synth.lightpath.lane_router import LightPaths
from lightloom.synth.lightpath.realisation import least_ps, weave, weave_packets
from lightloom.synth.rank_mapping import GIVEN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import ParameterValue
    from lightloom.core.task import Task
    from lightloom.instances.instance import Instance
    from lightloom.synth.traffic import TrafficRound

_DENSE = 16
"""Numbers of links for each loaded one up to which a table of all is kept."""


@dataclass(frozen=True)
class Candidate:
    """One algorithm in a comparison.

    Attributes
    ----------
    algorithm, parameters, mapping
        What it is.
    predicted_ps
        Lower bound on the completion time, before anything was woven.
    completion_time_ps
        What replay says; ``None`` where the prediction alone ruled it out.
    reconfigurations
        How often the fabric is reconfigured; ``None`` where it was not woven.
    """

    algorithm: str
    parameters: dict[str, ParameterValue]
    mapping: str
    predicted_ps: int
    completion_time_ps: int | None = None
    reconfigurations: int | None = None


@dataclass(eq=False)
class CandidatePool:
    """Predicts and weaves candidates for one instance, and keeps the best.

    The only mutable record of a synthesis: what has been compared so far.
    """

    instance: Instance
    seed: int
    router: str
    progress: Callable[[str], None] | None = None
    _candidates: list[Candidate] = field(default_factory=list)
    _best: tuple[Candidate, Schedule] | None = None
    _light_paths: LightPaths | None = None

    @property
    def ports(self) -> int:
        """Peers a node can drive at once: a port each, or all on packet fabrics."""
        fabric = self.instance.fabric
        if isinstance(fabric, PacketFabric):
            return max(1, fabric.node_count - 1)
        return max(1, fabric.ports_per_node)

    def rounds_of(self, size_bytes: int) -> Fraction | None:
        """Return the rounds' fixed costs that data last at a node's full rate.

        ``None`` where a round costs nothing, or nothing can be sent.
        """
        fabric = self.instance.fabric
        fixed_ps = fabric.alpha_ps
        if isinstance(fabric, PacketFabric):
            fixed_ps += fabric.latency_ps
        if not fixed_ps or not fabric.node_bits_per_s:
            return None
        size_ps = size_bytes * BITS_PER_BYTE * PS_PER_S
        return Fraction(size_ps, fabric.node_bits_per_s * fixed_ps)

    def say(self, text: str) -> None:
        """Tell the user what is being done."""
        if self.progress is not None:
            self.progress(text)

    def predict(self, rounds: Sequence[TrafficRound], *, cuts: bool = False) -> int:
        """Return a lower bound on the completion time that weaving would give.

        With `cuts`, waveguides and links are taken into account; without, they are
        plenty, and only what nodes send and receive counts.
        """
        fabric = self.instance.fabric
        if isinstance(fabric, Lightpath):
            return least_ps(fabric, rounds, self._paths(fabric) if cuts else None)
        assert isinstance(fabric, PacketFabric)
        step_ps = _links_step_ps if cuts else _nodes_step_ps
        return sum(step_ps(fabric, round_) for round_ in rounds)

    def pass_over(self, candidate: Candidate) -> None:
        """Record a candidate that its prediction ruled out."""
        self._candidates.append(candidate)

    def enter(
        self, candidate: Candidate, task: Task, rounds: Sequence[TrafficRound]
    ) -> None:
        """Weave and replay a candidate, and keep it if it is the best so far."""
        label = " ".join(
            [candidate.algorithm, *map(str, candidate.parameters.values())]
        )
        self.say(f"weaving {label}")
        self.enter_schedule(candidate, self._schedule(candidate, task, rounds))

    def enter_schedule(self, candidate: Candidate, schedule: Schedule) -> None:
        """Replay a candidate's schedule, and keep it if it is the best so far."""
        timeline = replay(schedule)
        entered = Candidate(
            candidate.algorithm,
            candidate.parameters,
            candidate.mapping,
            candidate.predicted_ps,
            timeline.completion_time_ps,
            len(timeline.reconfigurations),
        )
        self._candidates.append(entered)
        best_ps = self.best_ps()
        if best_ps is None or timeline.completion_time_ps < best_ps:
            self._best = (entered, schedule)

    def best_ps(self) -> int | None:
        """Return the completion time of the best candidate so far, if any."""
        return None if self._best is None else self._best[0].completion_time_ps

    def best(self) -> Schedule:
        """Return the best schedule, without its footer."""
        if self._best is None:
            message = "nothing has been woven yet"
            raise RuntimeError(message)
        return self._best[1]

    def compared(self) -> tuple[Candidate, ...]:
        """Return the candidates, fastest first, those only predicted last."""
        return tuple(
            sorted(
                self._candidates,
                key=lambda c: (
                    c.completion_time_ps is None,
                    c.completion_time_ps or c.predicted_ps,
                    c.algorithm,
                    str(c.parameters),
                    c.mapping,
                ),
            )
        )

    def _schedule(
        self, candidate: Candidate, task: Task, rounds: Sequence[TrafficRound]
    ) -> Schedule:
        fabric = self.instance.fabric
        parameters = dict(candidate.parameters)
        if candidate.mapping != GIVEN:
            parameters["mapping"] = candidate.mapping
        if isinstance(fabric, Lightpath):
            parameters["router"] = self.router
        algorithm = Algorithm(candidate.algorithm, parameters, self.seed)
        if isinstance(fabric, PacketFabric):
            parts = weave_packets(rounds)
            return Schedule(fabric.table(), task, algorithm, (), parts)
        if not isinstance(fabric, Lightpath):
            what = f"no algorithm weaves circuits for the fabric {fabric.kind!r}"
            raise InputError(what, where="fabric.kind")
        woven = weave(fabric, rounds, self._paths(fabric))
        return Schedule(fabric.table(), task, algorithm, woven.segments, woven.parts)

    def _paths(self, fabric: Lightpath) -> LightPaths:
        """Return the light paths that all candidates share."""
        if self._light_paths is None:
            self._light_paths = LightPaths(fabric, self.router, self.seed)
        return self._light_paths


def _nodes_step_ps(fabric: PacketFabric, round_: TrafficRound) -> int:
    """Return the least that a step lasts by what each node sends and receives."""
    busiest = 0
    for ends in (round_.transfers.src, round_.transfers.dst):
        moved = np.zeros(fabric.node_count, dtype=np.int64)
        np.add.at(moved, ends, round_.size_bytes)
        busiest = max(busiest, int(moved.max()))
    slowest = transmission_ps(busiest, fabric.node_bits_per_s)
    return fabric.alpha_ps + fabric.latency_ps + slowest


def _links_step_ps(fabric: PacketFabric, round_: TrafficRound) -> int:
    """Return how long a step lasts on a fabric without circuits."""
    usage = fabric.link_usage(round_.transfers.src, round_.transfers.dst)
    links, moved = _loads(usage.resource, round_.size_bytes[usage.circuit])
    rates, kind = np.unique(fabric.link_bits_per_s(links), return_inverse=True)
    most = np.zeros(len(rates), dtype=np.int64)
    np.maximum.at(most, kind, moved)
    slowest = max(map(transmission_ps, most.tolist(), rates.tolist()))
    return fabric.alpha_ps + fabric.latency_ps + slowest


def _loads(resource: IntArray, size_bytes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the links that appear in a column, and the bytes that each carries."""
    span = int(resource.max()) + 1
    if span > _DENSE * len(resource):
        links, place = np.unique(resource, return_inverse=True)
        moved = np.zeros(len(links), dtype=np.int64)
        np.add.at(moved, place, size_bytes)
        return links, moved
    # A table of all numbers up to the last is faster than a sort where it is short.
    table = np.zeros(span, dtype=np.int64)
    used = np.zeros(span, dtype=np.bool_)
    np.add.at(table, resource, size_bytes)
    used[resource] = True
    links = np.flatnonzero(used)
    return links, table[links]
