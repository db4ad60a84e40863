"""The search for potentials: a linear program for every number of steps, few first."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric
from lightloom.core.task import Collective
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.synth.bounds.link_lengths import SEARCHES as LINK_LENGTHS
from lightloom.synth.bounds.link_lengths import LinkQuestion
from lightloom.synth.bounds.link_stream import SEARCHES as LINK_STREAM
from lightloom.synth.bounds.link_stream import needed_links
from lightloom.synth.bounds.potential_program import PotentialProgram
from lightloom.synth.bounds.witness_search import WitnessSearch
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.link_steps import (
    StepTable,
    far_ps,
    first_steps,
    steps_ps,
)
from lightloom.validate.certificates.completion_time.link_stream import streams
from lightloom.validate.certificates.completion_time.requirements import (
    requirements_of,
)
from lightloom.validate.certificates.proofs.step_potentials import (
    FLOWS,
    Flow,
    Lifts,
    Ways,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.certificates.proofs.link_costs import PairRoutes

    FloatArray = npt.NDArray[np.float64]

_MOST_RANKS = 64
_MOST_STEPS = 16
_FIRST_STEPS = (2, 3, 5, 8, 12, 16)
_MOST_WORK = 9_000
"""Largest linear program: one or two seconds of a processor."""
_FEW_GROUPS = 12
_FEW_CLASSES = 6
_NEAR = 4
"""Relations from which on all others are alike where they are many."""
_MOST_DIGITS = 3
_LEAST = 1e-7
_FINE = 5040
"""The highest potential: simple fractions of it are whole numbers."""


@dataclass(frozen=True, eq=False)
class _Steps:
    """A collective whose links are put into groups, and pairs of ranks into classes.

    Attributes
    ----------
    fabric
        Of the collective.
    routes
        Between its ranks.
    links, group
        Distinct links, ascending, and the group of each, shape (links,).
    classes
        Of each relation, shape (relations,).
    shape
        The box whose translations change nothing; empty for none.
    lifts
        Of its data.
    """

    fabric: PacketFabric | Sipac
    routes: PairRoutes
    links: IntArray
    group: IntArray
    classes: IntArray
    shape: tuple[int, ...]
    lifts: Lifts

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
    def known(self) -> dict[int, StepTable | None]:
        """Tables that were looked for before, by the number of steps."""
        return {}

    def table(self, steps: int) -> StepTable | None:
        """Return lengths and potentials of so many steps that prove most.

        The time that data take is what all lengths of the busiest step make up; in
        them potentials are as high as can be. ``None`` where the solver fails.

        Parameters
        ----------
        steps
            Two or more.
        """
        if steps not in self.known:
            self.known[steps] = self._solved(steps)
        return self.known[steps]

    def _solved(self, steps: int) -> StepTable | None:
        share = np.array([float(one) for one in self.rate / self.rate.sum()])
        found = self.program.solve(steps, share)
        if found is None:
            return None
        length, potential = found
        high = np.rint(potential * (_FINE / max(1e-9, np.abs(potential).max())))
        high = np.minimum.accumulate(high.astype(np.int64), axis=0)
        return self._fitted(length, high)

    def _fitted(self, length: FloatArray, potentials: IntArray) -> StepTable:
        """Return whole lengths that allow what these potentials lift."""
        rows = []
        for now, before, after in zip(length, potentials, potentials[1:], strict=False):
            price = self.lifts.prices(before, after)
            parts = np.maximum(now, now.max() * _LEAST)
            asked = price > 0
            scale = (price[asked] / (self.lifts.usage[asked] @ parts)).max(initial=0.0)
            lengths = np.ceil(parts * scale).astype(np.int64)
            assert (price <= self.lifts.usage @ lengths).all()
            rows.append(lengths)
        return StepTable(np.array(rows), potentials)


def _find(fabric: AnyFabric, task: Task) -> Witness | None:
    """Return potentials for as many steps as may be the best of all."""
    if not isinstance(task, Collective) or not isinstance(fabric, PacketFabric | Sipac):
        return None
    if task.op not in FLOWS or not 2 < task.rank_count <= _MOST_RANKS:
        return None
    if not isinstance(fabric, Hashable):
        return None
    far = _far_witness(fabric, task)
    steps = _steps(fabric, task.op, task.nodes, task.root)
    if far is None or steps is None:
        return None
    needs = requirements_of(task, fabric.node_count)
    assert isinstance(needs, CollectiveNeeds)
    tables = _tables(steps, needs, far)
    if not tables:
        return None
    rows = [tables[count] for count in sorted(tables)]
    return {
        "links": steps.links.tolist(),
        "groups": steps.group.tolist(),
        "classes": steps.classes.tolist(),
        "shape": list(steps.shape),
        "steps": sorted(tables),
        "lengths": np.concatenate([one.lengths.ravel() for one in rows]).tolist(),
        "potentials": np.concatenate([one.potentials.ravel() for one in rows]).tolist(),
        **far,
    }


def _tables(
    steps: _Steps, needs: CollectiveNeeds, far: Witness
) -> dict[int, StepTable]:
    """Return tables for the numbers of steps that could be the best, by their number.

    First of a few numbers, up to where more steps cost more than the best so far; then
    of the one that, as far as is known, is the best, until it has one.
    """
    fabric, size = steps.fabric, needs.collective.chunk_bytes
    most = min(_MOST_STEPS, _MOST_WORK // steps.program.work)
    few, times = first_steps(fabric, needs)
    tables: dict[int, StepTable] = {}

    def least_ps(count: int) -> int:
        known = min((one for one in tables if one >= count), default=0)
        if not known:
            return far_ps(fabric, needs, steps.routes, far, count)
        data_ps = tables[known].data_ps(steps.lifts, steps.rate, size)
        return steps_ps(fabric, count) + data_ps

    for count in sorted({min(count, most) for count in _FIRST_STEPS}):
        if count <= max(1, few):
            continue
        best = min([*times, *map(least_ps, tables)], default=0)
        if best and least_ps(max(tables, default=few) + 1) >= best:
            break
        table = steps.table(count)
        if table is None:
            return {}
        tables[count] = table
    while tables:
        count = min(range(few + 1, max(tables) + 1), key=least_ps)
        asked = max(2, count)
        table = None if asked in tables else steps.table(asked)
        if table is None:
            break
        tables[asked] = table
    return tables


@functools.lru_cache(maxsize=16)
def _steps(
    fabric: Hashable, op: str, nodes: tuple[int, ...], root: int | None
) -> _Steps | None:
    """Return groups and classes, which do not depend on the size of a collective.

    Lengths of links by what they are among all, and by what they are to the root if
    these kinds are few; else those out of the root are told from the others.
    """
    assert isinstance(fabric, PacketFabric | Sipac)
    ways = Ways.of(fabric, nodes)
    count = np.arange(int(ways.relation.max()) + 1)
    many = len(count) > _FEW_CLASSES
    classes = np.minimum(count, 3 + (count > _NEAR)) if many else count
    task = Collective(op, nodes, len(nodes), None, root)
    if isinstance(fabric, Sipac):
        links = np.unique(ways.routes.link)
        group = (links // fabric.levels == root).astype(np.int64)
    else:
        question = LinkQuestion.of(fabric, task)
        assert question is not None
        links = question.links
        group = _groups(fabric, question, FLOWS[op], plain=many)
    of_row = group[np.searchsorted(links, ways.routes.link)]
    for shape in (*_boxes(len(nodes)), ()):
        try:
            lifts = Lifts.of(task, ways, of_row, classes, shape)
        except WitnessError:
            continue
        kept = () if FLOWS[op].rooted else shape
        return _Steps(fabric, ways.routes, links, group, classes, kept, lifts)
    return None


def _groups(
    fabric: PacketFabric, question: LinkQuestion, flow: Flow, *, plain: bool
) -> IntArray:
    """Return links in groups: if `plain` by rate alone, else by what they are.

    Where there is a root, links out of it are told from the others, and where there
    are few kinds of links as seen from the root, all of them are.
    """
    if not flow.rooted and not plain:
        return question.kind
    if not plain and int(question.number.max()) < _FEW_GROUPS:
        return question.number
    rate = fabric.link_bits_per_s(question.links)
    _, kind = np.unique(rate, return_inverse=True)
    if flow.rooted:
        asked = question.turned() if flow.turned else question
        root = question.needs.collective.root_rank
        pairs = np.zeros((asked.routes.ranks,) * 2, dtype=np.bool_)
        pairs[root] = True
        pairs[root, root] = False
        some = np.ones(len(question.links), dtype=np.bool_)
        out = needed_links(asked, some, pairs)
        assert out is not None
        kind = 2 * (kind if plain else question.kind) + out
    _, group = np.unique(kind, return_inverse=True)
    return group.astype(np.int64)


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
    lengths = LINK_LENGTHS.find(fabric, task)
    if lengths is None:
        return None
    found = {f"all_{key}": value for key, value in lengths.items()}
    if not streams(task):
        return found
    stream = LINK_STREAM.find(fabric, task)
    return None if stream is None else {**found, **stream}


SEARCHES = WitnessSearch("link-steps", _find)
"""The search for potentials over few steps."""
