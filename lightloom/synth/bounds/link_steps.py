"""The search for potentials: a linear program for every number of steps, few first."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric
from lightloom.core.task import Collective
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.synth.bounds.link_prices import (
    LinkQuestion,
    best_lengths,
    links_near_root,
    stream_witness,
)
from lightloom.synth.bounds.potentials import (
    FEWEST_ENDS,
    PotentialProgram,
    refined_places,
    related_places,
    relations,
)
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time.link_steps import (
    FLOWS,
    Lifts,
    StepTable,
    Ways,
    far_ps,
    first_steps,
    steps_ps,
    streams,
)
from lightloom.validate.certificates.completion_time.requirements import (
    CollectiveNeeds,
    requirements_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.columns import FloatArray, IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.certificates.completion_time.message_costs import PairRoutes


_NO_STEPS: Witness = {
    "links": [],
    "groups": [],
    "places": [],
    "shape": [],
    "times": [],
    "lengths": [],
    "potentials": [],
}
_MOST_RANKS = 64
"""Ranks of the long search: classes of pairs, and so the programs, grow as their
square."""
_MOST_STEPS = 512
"""Steps that a table is made for at most: its proof goes through all of them."""
_ALL_WORK = 28_000
"""Size of all programs of a search together: some three of the largest that
`PotentialProgram` takes."""
_SETTLED = 500
"""A bound that more tables would raise by less than this part of it is good enough."""
_MOST_RISES = 900
"""Rises up to which places of all colours are told apart."""
_FEW_RANKS = 16
"""Ranks up to which places are all told apart for two steps."""
_FEW_CLASSES = 6
"""Relations of a link to the root that are told apart; each has its prices in each
step."""
_NEAR = 4
"""Relations from which on all others are alike where they are many."""
_MOST_DIGITS = 3
"""Digits of the boxes that ranks are laid out in, as fabrics have dimensions."""
_FINE = 55440
"""The highest potential: simple fractions of it are whole numbers."""


@dataclass(frozen=True, eq=False)
class _Steps:
    """A collective whose links are put into groups, and pairs of ranks into classes.

    `links`, `group`: distinct links, ascending, and the group of each, shape (links,).
    `shape`: the box whose translations change nothing; empty for none. `rough`: fewer
    places, for more steps than a linear program of all can have.
    """

    fabric: PacketFabric | Sipac
    routes: PairRoutes
    links: IntArray
    group: IntArray
    shape: tuple[int, ...]
    lifts: Lifts
    rough: IntArray | None = None

    @functools.cached_property
    def rate(self) -> IntArray:
        """Rate of all links of each group, as Python integers, shape (groups,)."""
        rate = np.zeros(int(self.group.max()) + 1, dtype=object)
        np.add.at(rate, self.group, Ways.rates(self.fabric, self.links))
        return rate

    @functools.cached_property
    def program(self) -> PotentialProgram:
        """The linear program, for any number of steps."""
        return PotentialProgram.of(self.lifts)

    @functools.cached_property
    def rough_program(self) -> PotentialProgram:
        """The linear program of the fewer places, of all where there are none."""
        if self.rough is None:
            return self.program
        return PotentialProgram.of(replace(self.lifts, places=self.rough))

    def chosen(self, steps: int) -> PotentialProgram:
        """Return the linear program for so many steps, two or more."""
        few = self.program.most_ends < FEWEST_ENDS
        return self.rough_program if few and steps > 2 else self.program

    @functools.cached_property
    def known(self) -> dict[int, StepTable | None]:
        """Tables that were looked for before, by the number of steps."""
        return {}

    def table(self, steps: int) -> StepTable | None:
        """Return lengths and potentials of so many steps that prove most.

        The time that data take is what all lengths of the busiest step make up; in
        them potentials are as high as can be. ``None`` where the solver fails, or
        would take long.
        """
        most = self.chosen(steps).most_ends
        if steps > (most if self.program.most_ends < FEWEST_ENDS else _MOST_STEPS):
            return None
        if steps not in self.known:
            self.known[steps] = self._solved(steps)
        return self.known[steps]

    def _solved(self, steps: int) -> StepTable | None:
        share = np.array([float(one) for one in self.rate / self.rate.sum()])
        program = self.chosen(steps)
        times = np.array(program.times_of(steps))
        found = program.solve(times.tolist(), share)
        if found is None:
            return None
        length, potential = found
        if program is not self.program and self.rough is not None:
            _, one = np.unique(self.lifts.places, return_index=True)
            potential = potential[:, self.rough.reshape(-1)[one]]
        scale = _FINE / max(1e-9, np.abs(potential).max())
        high = np.rint(potential * scale).astype(np.int64)
        high = np.minimum.accumulate(high, axis=0)
        table = StepTable(times, np.zeros((0, 0), np.int64), high)
        return self._fitted(table, length * scale * len(self.program.first))

    def _fitted(self, table: StepTable, length: FloatArray) -> StepTable:
        """Return whole lengths that allow what the potentials of a table lift.

        Where one is too short the links of the lowest rate get longer.
        """
        cheap = np.array([float(one) for one in self.rate])
        rows = []
        for now, (steps, before, after) in zip(length, table.end_steps(), strict=True):
            price = -(-self.lifts.prices(before, after) // steps)
            lengths = np.rint(now).astype(np.int64)
            while True:
                over = price - self.lifts.costs(lengths)
                src, dst = divmod(int(over.argmax()), len(over))
                if over[src, dst] <= 0:
                    break
                used = self.lifts.usage[src, dst]
                group = int(
                    np.where(used > 0, cheap / np.maximum(used, 1), np.inf).argmin()
                )
                lengths[group] += -(-over[src, dst] // used[group])
            rows.append(lengths)
        return replace(table, lengths=np.array(rows))


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return potentials for as many steps as may be the best of all."""
    if not isinstance(task, Collective) or not isinstance(fabric, PacketFabric | Sipac):
        return None
    if task.op not in FLOWS or task.rank_count < 2 or not isinstance(fabric, Hashable):
        return None
    if not 2 < task.rank_count <= _MOST_RANKS:
        return _quick(fabric, task)
    far = _far_witness(fabric, task)
    small = _small(fabric, task)
    steps = _steps(fabric, task.op, task.nodes, task.root, small=small)
    if far is None or steps is None:
        return _quick(fabric, task)
    needs = requirements_of(task, fabric.node_count)
    assert isinstance(needs, CollectiveNeeds)
    tables = _tables(steps, needs, far)
    if not tables:
        return _quick(fabric, task)
    rows = [tables[count] for count in sorted(tables)]
    return {
        "links": steps.links.tolist(),
        "groups": steps.group.tolist(),
        "places": steps.lifts.places.ravel().tolist(),
        "shape": list(steps.shape),
        "times": np.concatenate([one.times for one in rows]).tolist(),
        "lengths": np.concatenate([one.lengths.ravel() for one in rows]).tolist(),
        "potentials": np.concatenate([one.potentials.ravel() for one in rows]).tolist(),
        **far,
    }


def _quick(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return what any number of steps must do that lead out of a root, or into it."""
    if not isinstance(task, Collective) or not streams(task):
        return None
    if not isinstance(fabric, PacketFabric) or not isinstance(fabric, Hashable):
        return None
    far = _far_witness(fabric, task)
    return None if far is None else {**_NO_STEPS, **far}


def _small(fabric: PacketFabric | Sipac, task: Collective) -> bool:
    """Return whether places and links are all told apart: few ranks, two steps."""
    if isinstance(fabric, Sipac) or task.rank_count > _FEW_RANKS:
        return False
    data_ps = transmission_ps(task.buffer_bytes, fabric.node_bits_per_s)
    flow = FLOWS[task.op]
    return flow.rooted and flow.same and data_ps < steps_ps(fabric, 1)


def _tables(
    steps: _Steps, needs: CollectiveNeeds, far: Witness
) -> dict[int, StepTable]:
    """Return tables for the numbers of steps that could be the best, by their number.

    The first by what a stream would take; then, where the least is known worst, for
    more steps than all so far, or halfway between two numbers of them.
    """
    fabric, size = steps.fabric, needs.collective.chunk_bytes
    few, times = first_steps(fabric, needs)
    tables: dict[int, StepTable] = {}
    data: dict[int, int] = {}

    @functools.cache
    def any_ps(count: int) -> int:
        return far_ps(fabric, needs, steps.routes, far, count)

    def least_ps(count: int) -> int:
        known = [data[one] for one in sorted(tables) if one >= count]
        table_ps = steps_ps(fabric, count) + known[0] if known else 0
        return max(any_ps(count), table_ps)

    left = _ALL_WORK
    while left > 0:
        starts = [few, *sorted(tables)]
        weakest = min(starts, key=lambda one: least_ps(one + 1))
        best = min([*times, *map(least_ps, tables)], default=0)
        if tables and best - least_ps(weakest + 1) <= best // _SETTLED:
            break
        following = [one for one in starts if one > weakest]
        if not tables:
            asked = min(
                _expected(steps, far, needs), max(few + 1, steps.program.most_ends)
            )
        elif following:
            asked = (weakest + 1 + following[0]) // 2
        else:
            asked = weakest + max(1, weakest // 2)
        asked = max(2, asked)
        table = None if asked in tables else steps.table(asked)
        if table is None:
            break
        tables[asked] = table
        data[asked] = table.data_ps(steps.lifts, steps.rate, size)
        left -= steps.chosen(asked).work * len(table.lengths)
    return tables


def _expected(steps: _Steps, far: Witness, needs: CollectiveNeeds) -> int:
    """Return how many steps might be best: a few more data are lost for each fewer."""
    fabric = steps.fabric
    least = first_steps(fabric, needs)[0] + 1
    many = max(2, least)
    data_ps = far_ps(fabric, needs, steps.routes, far, many) - steps_ps(fabric, many)
    each_ps = steps_ps(fabric, many + 1) - steps_ps(fabric, many)
    lost = 2 if needs.collective.root is not None else 1
    near = isqrt(lost * data_ps // each_ps) if each_ps else _MOST_STEPS
    return min(max(many, near), _MOST_STEPS)


@functools.lru_cache(maxsize=16)
def _steps(
    fabric: Hashable,
    op: str,
    nodes: tuple[int, ...],
    root: int | None,
    *,
    small: bool,
) -> _Steps | None:
    """Return groups and places, which do not depend on the size of a collective.

    Places of all colours, and links of all classes, where these are few; else places
    by how ranks stand to each other, and lengths of links by what they are to the root
    if these kinds are few, or links out of it told from the others; all of them where
    two steps of a small collective count.
    """
    assert isinstance(fabric, PacketFabric | Sipac)
    ways = Ways.of(fabric, nodes, FLOWS[op])
    task = Collective(op, nodes, len(nodes), None, root)
    relation = relations(fabric, nodes, ways)
    if isinstance(fabric, Sipac):
        links = np.unique(ways.routes.link)
        told = links // (fabric.levels * fabric.node_count)
        group = links_near_root(task, ways, links, told, relation)
    else:
        question = LinkQuestion.of(fabric, task)
        assert question is not None
        links = question.links
        group = question.number if FLOWS[op].rooted else question.kind
        lifts, shape = _lifts(task, ways, links, group)
        if lifts is not None and len(lifts.sources) == 1:
            places = refined_places(lifts, _MOST_RISES)
            if places is not None:
                lifts = replace(lifts, places=places)
                return _Steps(fabric, ways.routes, links, group, shape, lifts)
        group = question.kind
        if FLOWS[op].rooted:
            rate = fabric.link_bits_per_s(links)
            group = links_near_root(task, ways, links, rate, relation)
        if int(relation.max()) + 1 > _FEW_CLASSES:
            relation = np.minimum(relation, 3 + (relation > _NEAR))
    if small:
        group = np.arange(len(links))
    lifts, shape = _lifts(task, ways, links, group)
    if lifts is None:
        return None
    places = related_places(lifts, relation)
    rough = related_places(lifts, relation, rough=True)
    if small:
        rough, places = places, np.arange(places.size).reshape(places.shape)
    lifts = replace(lifts, places=places)
    return _Steps(fabric, ways.routes, links, group, shape, lifts, rough)


def _lifts(
    task: Collective, ways: Ways, links: IntArray, group: IntArray
) -> tuple[Lifts | None, tuple[int, ...]]:
    """Return the lifts of links in groups, all places one, and the box, if any."""
    of_row = group[np.searchsorted(links, ways.routes.link)]
    ranks, flow = task.rank_count, FLOWS[task.op]
    for shape in () if flow.rooted else _boxes(ranks):
        one = np.zeros(ranks**2, dtype=np.int64)
        try:
            return Lifts.of(task, ways, of_row, shape, one), shape
        except WitnessError:
            continue
    sources = 1 if flow.rooted else ranks
    one = np.zeros(sources * ranks**2, dtype=np.int64)
    try:
        return Lifts.of(task, ways, of_row, (), one), ()
    except WitnessError:
        return None, ()


def _boxes(ranks: int) -> Iterator[tuple[int, ...]]:
    """Yield the boxes of one, two and three digits, none of one place."""
    yield (ranks,)
    for first in range(2, ranks):
        if not ranks % first:
            for rest in _boxes(ranks // first):
                if len(rest) < _MOST_DIGITS:
                    yield (first, *rest)


@functools.lru_cache(maxsize=16)
def _far_witness(fabric: Hashable, task: Collective) -> Witness | None:
    """Return what any number of steps must do."""
    if isinstance(fabric, Sipac):
        return {}
    assert isinstance(fabric, PacketFabric)
    priced = best_lengths(fabric, task)
    if priced is None:
        return None
    found = {"all_links": priced[0].tolist(), "all_lengths": priced[1].tolist()}
    if not streams(task):
        return found
    stream = stream_witness(fabric, task)
    return None if stream is None else {**found, **stream}


SEARCHES = WitnessSearch("link-steps", _find, long=True, quick=_quick)
"""The search for potentials over few steps."""
