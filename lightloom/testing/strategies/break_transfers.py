"""Mutations of transfers: what moves, between whom, and when."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from lightloom.core.columns import column
from lightloom.core.fabric import CircuitFabric
from lightloom.core.schedule import FluidTransfers, Op, SealedSchedule, Transfers
from lightloom.core.task import Collective
from lightloom.instances.collectives import op_of
from lightloom.testing.strategies.mutation import (
    any_row,
    last_rows,
    reckoned,
    with_part,
    with_row,
    with_value,
    without_row,
)

if TYPE_CHECKING:
    import random

    from lightloom.instances.instance import AnyFabric
    from lightloom.testing.strategies.mutation import Mutation

Broken = tuple[str, SealedSchedule] | None


def _more(
    whole: SealedSchedule, rng: random.Random, rule: str, **fields: int
) -> Broken:
    """Return a schedule with one transfer repeated, some of its fields changed."""
    place = any_row(whole, rng)
    if place is None:
        return None
    number, row = place
    rows = with_row(whole.parts[number].transfers, row, **fields)
    return rule, with_part(whole, number, transfers=rows)


def transfer_to_itself(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Add a transfer from a node to itself."""
    del fabric
    node = whole.task.nodes[0] if isinstance(whole.task, Collective) else 0
    return _more(whole, rng, "self-transfer", src=node, dst=node)


def transfer_to_nowhere(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Add a transfer to a node that the fabric does not have."""
    return _more(whole, rng, "node-range", dst=fabric.node_count)


def transfer_to_stranger(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Add a transfer to a node that has no rank."""
    if isinstance(fabric, CircuitFabric) or not isinstance(whole.task, Collective):
        return None
    outside = set(range(fabric.node_count)).difference(whole.task.nodes)
    if not outside:
        return None
    return _more(whole, rng, "rank-membership", dst=rng.choice(sorted(outside)))


def chunk_beyond(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Add a transfer of chunks that do not exist, or of none."""
    del fabric
    task = whole.task
    if not isinstance(task, Collective):
        return None
    total = op_of(task).chunk_total(task)
    lo, hi = rng.choice([(total, total + 1), (0, total + 1), (-1, 1), (0, 0), (1, 0)])
    return _more(whole, rng, "chunk-range", chunk_lo=lo, chunk_hi=hi)


def no_bytes(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Add a transfer of no bytes, or of less."""
    del fabric
    if isinstance(whole.task, Collective):
        return None
    return _more(whole, rng, "bytes-range", bytes=rng.choice([0, -1]))


def short_column(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Cut the last value off one column of a step."""
    del fabric
    if (place := any_row(whole, rng)) is None:
        return None
    rows = whole.parts[place[0]].transfers
    name = "chunk_hi" if isinstance(rows, Transfers) else "bytes"
    cut = replace(rows, **{name: getattr(rows, name)[:-1]})
    return "transfer-columns", with_part(whole, place[0], transfers=cut)


def other_kind(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Move bytes for a collective, or chunks for a demand."""
    del fabric
    if (place := any_row(whole, rng)) is None:
        return None
    rows = whole.parts[place[0]].transfers
    ones = column([1] * len(rows))
    other: Transfers | FluidTransfers = FluidTransfers(rows.src, rows.dst, ones)
    if isinstance(rows, FluidTransfers):
        other = Transfers(rows.src, rows.dst, ones * 0, ones, ones * int(Op.COPY))
    return "transfer-kind", with_part(whole, place[0], transfers=other)


def wrong_bytes(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Move a byte more than was asked for, or leave a transfer out.

    A relay is sent enough all the same, and sends no more than that.
    """
    del fabric
    place = any_row(whole, rng)
    if place is None or isinstance(whole.task, Collective):
        return None
    number, row = place
    moved = whole.parts[number].transfers
    assert isinstance(moved, FluidTransfers)
    more = with_value(moved, row, bytes=int(moved.bytes[row]) + 1)
    first = moved.final is not None and moved.final[row] != moved.dst[row]
    second = moved.origin is not None and moved.origin[row] != moved.src[row]
    changed = [] if second else [more]
    changed += [] if first else [without_row(moved, row)]
    rows = rng.choice(changed)
    return "demand-bytes", with_part(whole, number, transfers=rows)


def relays_forbidden(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Forbid the relays of a demand whose bytes take them."""
    del fabric, rng
    task = whole.task
    if isinstance(task, Collective) or not any(
        isinstance(moved, FluidTransfers)
        and moved.origin is not None
        and moved.final is not None
        and ((moved.origin != moved.src) | (moved.final != moved.dst)).any()
        for moved in (part.transfers for part in whole.parts)
    ):
        return None
    forbidden = replace(whole, task=msgspec.structs.replace(task, relays=False))
    return "demand-relays", reckoned(forbidden)


def data_not_held(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Let a node send in the last step what reaches it in that step, or never.

    A transfer of the last step asks for a chunk that its source has not: another
    chunk, or the same one the other way round where a circuit leads back.
    """
    del fabric
    task = whole.task
    if not isinstance(task, Collective) or op_of(task).reduces:
        return None
    had = _held_before_last(whole, task)
    total = op_of(task).chunk_total(task)
    written = _written_last(whole)
    lacks = [
        (number, row, chunk)
        for number, row in last_rows(whole)
        for chunk in range(total)
        if (_end(whole, number, row, "src"), chunk) not in had
        and (_end(whole, number, row, "dst"), chunk) not in written
    ]
    if not lacks:
        return None
    number, row, chunk = rng.choice(lacks)
    moved = whole.parts[number].transfers
    rows = with_row(moved, row, chunk_lo=chunk, chunk_hi=chunk + 1)
    return "source-holds-data", with_part(whole, number, transfers=rows)


def _end(whole: SealedSchedule, number: int, row: int, name: str) -> int:
    return int(getattr(whole.parts[number].transfers, name)[row])


def _cells(moved: Transfers) -> set[tuple[int, int]]:
    """Return the (node, chunk) that transfers write."""
    return {
        (dst, chunk)
        for dst, lo, hi in zip(
            moved.dst.tolist(),
            moved.chunk_lo.tolist(),
            moved.chunk_hi.tolist(),
            strict=True,
        )
        for chunk in range(lo, hi)
    }


def _written_last(whole: SealedSchedule) -> set[tuple[int, int]]:
    cells: set[tuple[int, int]] = set()
    for part in whole.parts:
        if part.index == whole.step_count - 1:
            assert isinstance(part.transfers, Transfers)
            cells |= _cells(part.transfers)
    return cells


def _held_before_last(whole: SealedSchedule, task: Collective) -> set[tuple[int, int]]:
    """Return the (node, chunk) that are there when the last step begins."""
    start = op_of(task).initial(task)
    held = {
        (task.nodes[rank], chunk)
        for rank, lo, hi in zip(
            start.rank.tolist(),
            start.chunk_lo.tolist(),
            start.chunk_hi.tolist(),
            strict=True,
        )
        for chunk in range(lo, hi)
    }
    for part in whole.parts:
        if part.index < whole.step_count - 1:
            assert isinstance(part.transfers, Transfers)
            held |= _cells(part.transfers)
    return held


def copied_twice(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Copy into the same chunk of the same node twice in a step."""
    del fabric
    copies = _rows_of(whole, Op.COPY)
    if not copies:
        return None
    number, row = rng.choice(copies)
    rows = with_row(whole.parts[number].transfers, row)
    return "write-conflict", with_part(whole, number, transfers=rows)


def added_twice(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Add the same contribution twice in a step."""
    del fabric
    sums = _rows_of(whole, Op.REDUCE)
    if not sums:
        return None
    number, row = rng.choice(sums)
    rows = with_row(whole.parts[number].transfers, row)
    return "post-condition-double", with_part(whole, number, transfers=rows)


def added_to_nothing(
    whole: SealedSchedule, fabric: AnyFabric, rng: random.Random
) -> Broken:
    """Add, in the last step, where there is nothing to add to."""
    del fabric
    task = whole.task
    if not isinstance(task, Collective) or op_of(task).reduces:
        return None
    places = last_rows(whole)
    if not places:
        return None
    number, row = rng.choice(places)
    rows = with_value(whole.parts[number].transfers, row, op=int(Op.REDUCE))
    return "reduce-into-nothing", with_part(whole, number, transfers=rows)


def left_out(whole: SealedSchedule, fabric: AnyFabric, rng: random.Random) -> Broken:
    """Leave out a transfer of the last step that somebody was waiting for."""
    del fabric
    task = whole.task
    if not isinstance(task, Collective):
        return None
    final = op_of(task).final(task)
    wanted = {
        (task.nodes[rank], lo, hi)
        for rank, lo, hi in zip(
            final.rank.tolist(),
            final.chunk_lo.tolist(),
            final.chunk_hi.tolist(),
            strict=True,
        )
    }
    needed = [
        (number, row)
        for number, row in last_rows(whole)
        for node, lo, hi in wanted
        if _end(whole, number, row, "dst") == node
        and lo <= _end(whole, number, row, "chunk_lo") < hi
    ]
    if not needed:
        return None
    number, row = rng.choice(sorted(needed))
    rows = without_row(whole.parts[number].transfers, row)
    return "post-condition-missing", with_part(whole, number, transfers=rows)


def _rows_of(whole: SealedSchedule, op: Op) -> list[tuple[int, int]]:
    """Return (part, row) of the transfers of an operation."""
    return [
        (number, row)
        for number, part in enumerate(whole.parts)
        if isinstance(part.transfers, Transfers)
        for row in range(len(part.transfers))
        if part.transfers.op[row] == op
    ]


MUTATIONS: tuple[Mutation, ...] = (
    transfer_to_itself,
    transfer_to_nowhere,
    transfer_to_stranger,
    chunk_beyond,
    no_bytes,
    short_column,
    other_kind,
    wrong_bytes,
    relays_forbidden,
    data_not_held,
    copied_twice,
    added_twice,
    added_to_nothing,
    left_out,
)
