"""Contribution counts agree with multisets kept in plain dictionaries."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.columns import column
from lightloom.core.schedule import Algorithm, Op, Schedule, StepPart, Transfers
from lightloom.core.seed import seeded_random
from lightloom.core.task import Collective
from lightloom.core.violation import MOST_PER_RULE, Unlisted, Violation
from lightloom.instances.collectives import COLLECTIVES, op_of
from lightloom.validate.data import all_to_all, contributions
from lightloom.validate.data.contributions import check_postcondition
from lightloom.validate.data.moves import moves_of
from lightloom.validate.data.values import Values

if TYPE_CHECKING:
    import random


Row = tuple[int, int, int, int, int, int]
"""step, src, dst, chunk_lo, chunk_hi, op."""
Fault = tuple[str, int | None, str]
"""Rule, step and what it is about."""
Write = tuple[int, Counter[int], str]
"""op, value and the transfer in words."""
State = dict[tuple[int, int], Counter[int]]
"""Value of each (node, chunk) that is held."""


def _schedule(task: Collective, rows: list[Row]) -> Schedule:
    parts = []
    for step in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == step]
        cut = len(mine) // 2  # two parts, as for two segments of one step
        for piece in (mine[:cut], mine[cut:]):
            columns = [column(row[place] for row in piece) for place in range(1, 6)]
            parts.append(StepPart(step, None, None, Transfers(*columns)))
    return Schedule({}, task, Algorithm("random"), (), tuple(parts))


def _oracle(task: Collective, rows: list[Row]) -> set[Fault]:
    """Return (rule, step, what) of every fault, one chunk and multiset at a time."""
    op = op_of(task)
    first = op.initial(task)
    state: State = {}
    for rank, lo, hi in zip(first.rank, first.chunk_lo, first.chunk_hi, strict=True):
        for chunk in range(lo, hi):
            state[task.nodes[rank], chunk] = Counter([task.nodes[rank]])
    begin = dict(state)
    faults: set[Fault] = set()
    for step in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == step]
        for cell, queue in _writes(mine, dict(state), faults).items():
            state[cell] = _settled(queue, state.get(cell), step, faults)
    return faults | _final_faults(task, begin, state)


def _writes(
    rows: list[Row], release: State, faults: set[Fault]
) -> dict[tuple[int, int], list[Write]]:
    writes: dict[tuple[int, int], list[Write]] = {}
    for number, (step, src, dst, lo, hi, kind) in enumerate(rows):
        where = f"row {number}, transfer {src} -> {dst}"
        for chunk in range(lo, hi):
            if (src, chunk) in release:
                write = (kind, release[src, chunk], where)
                writes.setdefault((dst, chunk), []).append(write)
            else:
                faults.add(("source-holds-data", step, where))
    return writes


def _settled(
    queue: list[Write], before: Counter[int] | None, step: int, faults: set[Fault]
) -> Counter[int]:
    lead = queue[0][0]
    total: Counter[int] = Counter()
    if lead == Op.REDUCE and before is not None:
        total += before
    for place, (kind, value, where) in enumerate(queue):
        if place and Op.COPY in (kind, lead):
            faults.add(("write-conflict", step, where))
            continue
        if kind == Op.REDUCE and before is None:
            faults.add(("reduce-into-nothing", step, where))
        total += value
    return total


def _final_faults(task: Collective, begin: State, state: State) -> set[Fault]:
    op = op_of(task)
    last = op.final(task)
    faults: set[Fault] = set()
    holder = {chunk: node for node, chunk in begin}
    for rank, lo, hi in zip(last.rank, last.chunk_lo, last.chunk_hi, strict=True):
        for chunk in range(lo, hi):
            node = task.nodes[rank]
            has = state.get((node, chunk), Counter())
            due = set(task.nodes) if op.reduces else {holder[chunk]}
            name = f"{chunk} of {node}"
            if not has or due - set(has):
                faults.add(("post-condition-missing", None, name))
            if any(has[who] > 1 for who in due):
                faults.add(("post-condition-double", None, name))
            if set(has) - due:
                faults.add(("post-condition-wrong", None, name))
    return faults


def _violations(task: Collective, rows: list[Row]) -> list[Violation]:
    violations = []
    for violation in contributions.check(_schedule(task, rows), task):
        assert isinstance(violation, Violation)
        violations.append(violation)
    return violations


def _found(task: Collective, rows: list[Row]) -> set[Fault]:
    faults: set[Fault] = set()
    for violation in _violations(task, rows):
        where = violation.resource
        if violation.step is not None:
            faults.add((violation.rule, violation.step, where))
            continue
        chunks, node = where.split(" of node ")
        span = chunks.split()[1].split(":")
        lo = int(span[0])
        hi = int(span[1]) if len(span) > 1 else lo + 1
        for chunk in range(lo, hi):
            faults.add((violation.rule, None, f"{chunk} of {node}"))
    return faults


def _random_rows(rng: random.Random, task: Collective, total: int) -> list[Row]:
    """Return transfers that mostly, but not always, make sense."""
    held: dict[int, list[tuple[int, int]]] = {}
    first = op_of(task).initial(task)
    for rank, lo, hi in zip(
        first.rank.tolist(),
        first.chunk_lo.tolist(),
        first.chunk_hi.tolist(),
        strict=True,
    ):
        held.setdefault(task.nodes[rank], []).append((lo, hi))
    rows: list[Row] = []
    for step in range(rng.randint(1, 5)):
        for _ in range(rng.randint(1, 6)):
            src, dst = rng.sample(task.nodes, 2)
            lo = rng.randrange(total)
            hi = rng.randint(lo + 1, total)
            if src in held and rng.random() < 0.8:
                lo, hi = rng.choice(held[src])
            into = dst in held and any(a <= lo and hi <= b for a, b in held[dst])
            kind = int(Op.REDUCE if into and rng.random() < 0.7 else Op.COPY)
            rows.append((step, src, dst, lo, hi, kind))
            held.setdefault(dst, []).append((lo, hi))
    return rows


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(sorted(COLLECTIVES)))
def test_agrees_with_dictionaries_of_counters(seed: int, op: str) -> None:
    """Random transfers, sensible or not, break the same rules at the same places."""
    rng = seeded_random(seed)
    nodes = tuple(rng.sample(range(9), rng.randint(2, 5)))
    chunks = len(nodes) * rng.randint(1, 3)
    task = Collective(op, nodes, chunks, chunks)
    rows = _random_rows(rng, task, op_of(task).chunk_total(task))
    assert _found(task, rows) == _oracle(task, rows)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from(["all-reduce", "all-to-all"]))
def test_blocks_do_not_matter(seed: int, op: str) -> None:
    """Cut in blocks of any size, the same schedule gets the same verdict."""
    rng = seeded_random(seed)
    nodes = tuple(range(4))
    task = Collective(op, nodes, 12, 12)
    rows = _random_rows(rng, task, op_of(task).chunk_total(task))
    whole = _violations(task, rows)
    limits = [
        ("MOST_CELLS", 8),
        ("MOST_ELEMENTS", 3),
        ("MOST_VALUE_BYTES", 1200),
        ("CELLS_A_WRITE", 0),  # with MOST_CELLS: only cells that are touched
        ("MOST_LOAD", 5),
    ]
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in rng.sample(limits, rng.randint(1, 5)):
            patch.setattr(contributions, name, limit)
        cut = _violations(task, rows)
    assert _flow(cut) == _flow(whole)
    assert _chunks(cut) == _chunks(whole)


def _flow(violations: list[Violation]) -> list[Violation]:
    """Return those of transfers."""
    return [violation for violation in violations if violation.step is not None]


def _chunks(violations: list[Violation]) -> set[tuple[str, str, int]]:
    """Return (rule, node, chunk) of violations that span runs of chunks."""
    found = set()
    for violation in violations:
        if violation.step is not None:
            continue
        span, node = violation.resource.split(" of node ")
        ends = [int(end) for end in span.split()[1].split(":")]
        for chunk in range(ends[0], ends[-1] if len(ends) > 1 else ends[0] + 1):
            found.add((violation.rule, node, chunk))
    return found


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9), st.integers(2, 4))
def test_accepted_items_are_right(seed: int, ranks: int) -> None:
    """What is accepted item by item has no faults; whole ways are accepted."""
    rng = seeded_random(seed)
    task = Collective("all-to-all", tuple(range(ranks)), ranks, ranks)
    rows: list[Row] = []
    for item in range(ranks * ranks):
        at, due = divmod(item, ranks)
        stops = [due] if rng.random() < 0.7 else [rng.randrange(ranks), due]
        for step, stop in enumerate(stops, rng.randrange(3)):
            if stop != at:
                rows.append((step, at, stop, item, item + 1, int(Op.COPY)))
                at = stop
    broken = rng.random() < 0.3
    if broken and rows:
        rows.remove(rng.choice(rows))
    made = _schedule(task, rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(all_to_all, "ITEMS_AT_A_TIME", rng.randint(1, 5))
        accepted = all_to_all.accepts(made, task)
    if accepted:
        assert not _oracle(task, rows)
    assert accepted or broken


@given(st.lists(st.lists(st.integers(0, 6), min_size=1), min_size=1, max_size=8))
def test_values_are_saturated_multisets(draws: list[list[int]]) -> None:
    """Sums of values know who contributes, and who does so more than once."""
    values = Values(7)
    total, counts = values.intern(0), Counter[int]()
    for draw in draws:
        for rank in draw:
            total = values.add(total, values.intern(1 << rank))
            counts[rank] += 1
    once, twice = values.masks(total)
    assert once == sum(1 << rank for rank in counts)
    assert twice == sum(1 << rank for rank, count in counts.items() if count > 1)


@given(st.integers(1, 6), st.data())
def test_runs_of_ranks_add_like_any_other_values(
    ranks: int, data: st.DataObject
) -> None:
    """Whatever the masks, a column is added as each row is; equal sums, equal ids."""
    values = Values(ranks)
    masks = st.integers(0, 2**ranks - 1)
    pairs = data.draw(st.lists(st.tuples(masks, masks), min_size=1))
    left, right = (
        np.array([values.intern(pair[side]) for pair in pairs]) for side in range(2)
    )
    sums = values.add_columns(left, right).tolist()
    assert sums == [
        values.add(*row) for row in zip(left.tolist(), right.tolist(), strict=True)
    ]
    for (one, other), total in zip(pairs, sums, strict=True):
        assert values.masks(total) == (one | other, one & other)


@given(st.integers(1, 6), st.data())
def test_groups_of_values_add_like_one_after_another(
    ranks: int, data: st.DataObject
) -> None:
    """Whatever the masks and the groups, equal sums have equal ids."""
    values = Values(ranks)
    masks = st.integers(0, 2**ranks - 1)
    drawn = st.lists(st.lists(masks, min_size=1, max_size=7), min_size=1, max_size=5)
    groups = [[values.intern(mask) for mask in group] for group in data.draw(drawn)]
    starts = np.cumsum([0, *map(len, groups)])[:-1]
    sums = values.sums(np.concatenate(groups), starts).tolist()
    assert sums == [reduce(values.add, group) for group in groups]


def test_columns_of_values_add_row_by_row() -> None:
    """Adding columns is adding each row."""
    values = Values(4)
    ids = [values.intern(1 << rank) for rank in range(4)]
    left = np.array([ids[0], ids[1], ids[1], 0], dtype=np.int64)
    right = np.array([ids[1], ids[0], ids[1], ids[3]], dtype=np.int64)
    sums = values.add_columns(left, right).tolist()
    assert sums[0] == sums[1] == values.intern(0b0011)
    assert values.masks(sums[2]) == (0b0010, 0b0010)
    assert sums[3] == ids[3]


def test_foreign_contributions_are_wrong() -> None:
    """A chunk that must hold one rank's data and holds another's as well is wrong."""
    task = Collective("all-gather", (5, 8), 2, 2)
    moves = moves_of(Schedule({}, task, Algorithm("none"), (), ()), task)
    values = Values(2)
    mine, theirs, both = values.intern(0b01), values.intern(0b10), values.intern(0b11)
    state = np.array([[mine, theirs], [both, theirs]], dtype=np.int32)
    (violation,) = check_postcondition(
        state,
        values,
        task,
        moves,
        reduces=False,
        atom_lo=0,
        atom_hi=2,
        listed=Counter(),
    )
    assert violation.rule == "post-condition-wrong"
    assert violation.resource == "chunk 0 of node 8"
    assert violation.message.startswith("node 8 has a foreign contribution of node 8")


def test_runs_of_chunks_are_one_violation() -> None:
    """Chunks that lack the same contributions are reported together."""
    task = Collective("broadcast", (4, 2), 6, 6)
    moves = moves_of(Schedule({}, task, Algorithm("none"), (), ()), task)
    values = Values(2)
    state = np.full((2, moves.atom_count), values.intern(0b01), dtype=np.int32)
    state[1] = 0
    (violation,) = check_postcondition(
        state,
        values,
        task,
        moves,
        reduces=False,
        atom_lo=0,
        atom_hi=moves.atom_count,
        listed=Counter(),
    )
    assert violation.rule == "post-condition-missing"
    assert violation.resource == "chunks 0:6 of node 2"


@pytest.mark.parametrize("op", ["all-gather", "all-to-all"])
def test_what_everyone_lacks_is_counted_in_columns(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a schedule without steps the first violations are listed; no pair has its own.

    The limit on memory is less than the object of a violation takes.
    """
    for name in ("MOST_CELLS", "MOST_LOAD", "MOST_ELEMENTS"):
        monkeypatch.setattr(contributions, name, 2**14)
    ranks = 512
    task = Collective(op, tuple(range(ranks)), ranks, ranks)
    tracemalloc.start()
    try:
        found = list(contributions.check(_schedule(task, []), task))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    lacking = ranks * (ranks - 1)
    counted = sum(each.count for each in found if isinstance(each, Unlisted))
    assert sum(isinstance(each, Violation) for each in found) == MOST_PER_RULE
    assert counted == lacking - MOST_PER_RULE
    assert peak_bytes < 150 * lacking


def test_listed_violations_are_those_of_the_first_blocks() -> None:
    """Blocks list no more together than one would, and count the same."""
    task = Collective("all-gather", tuple(range(40)), 40, 40)
    whole = list(contributions.check(_schedule(task, []), task))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contributions, "MOST_CELLS", 80)
        cut = list(contributions.check(_schedule(task, []), task))
    for found in (whole, cut):
        listed = sum(isinstance(each, Violation) for each in found)
        counted = sum(each.count for each in found if isinstance(each, Unlisted))
        assert (listed, counted) == (MOST_PER_RULE, 40 * 39 - MOST_PER_RULE)
