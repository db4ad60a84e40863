"""Mutations: one change that makes a valid schedule break exactly one rule."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from lightloom.core.circuit import COLUMNS, Circuits, join_circuits
from lightloom.core.columns import column
from lightloom.core.fabric import CircuitFabric
from lightloom.core.schedule import (
    FluidTransfers,
    Footer,
    Op,
    SealedSchedule,
    Segment,
    Transfers,
    transfer_columns,
)
from lightloom.core.task import Collective, Demand
from lightloom.instances.collectives import op_of
from lightloom.testing.strategies.candidate_circuits import (
    LightPath,
    circuits_of,
    conceivable,
    faults_of,
    light_paths,
    overused,
    wavelength_count,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable

    from lightloom.core.certificate import Certificate
    from lightloom.instances.instance import AnyFabric

MOST_TRIED = 48
"""Most circuits that are tried in search of one that breaks a single rule."""

ValueT = TypeVar("ValueT")
TaskT = TypeVar("TaskT", Collective, Demand)


class DoesNotApplyError(Exception):
    """A schedule has nothing that a mutation could change."""


@dataclass(frozen=True, eq=False)
class ValidSchedule:
    """What a mutation is given: a schedule to break, its fabric, and some chance.

    Each method raises `DoesNotApplyError` where there is nothing to return.
    """

    whole: SealedSchedule
    fabric: AnyFabric
    rng: random.Random

    def choice(self, values: Iterable[ValueT]) -> ValueT:
        """Return one of some values."""
        listed = list(values)
        if not listed:
            raise DoesNotApplyError
        return self.rng.choice(listed)

    def task(self, kind: type[TaskT]) -> TaskT:
        """Return the task, which is of a kind."""
        if not isinstance(self.whole.task, kind):
            raise DoesNotApplyError
        return self.whole.task

    @property
    def circuit_fabric(self) -> CircuitFabric:
        """The fabric, which has circuits."""
        if not isinstance(self.fabric, CircuitFabric):
            raise DoesNotApplyError
        return self.fabric

    def lit_segment(self) -> int:
        """Return the place of a segment that has circuits."""
        _ = self.circuit_fabric
        segments = enumerate(self.whole.segments)
        return self.choice(at for at, segment in segments if len(segment.circuits))

    def part(self) -> int:
        """Return the place of a part of a step."""
        return self.choice(range(len(self.whole.parts)))

    def rows(self, *, of_last_step: bool = False) -> list[tuple[int, int]]:
        """Return (part, row) of every transfer, or of those of the last step."""
        last = self.whole.step_count - 1
        return [
            (number, row)
            for number, part in enumerate(self.whole.parts)
            if part.index == last or not of_last_step
            for row in range(len(part.transfers))
        ]


Broken = tuple[str, SealedSchedule]
"""The rule that is broken, and the schedule that breaks it."""

MUTATIONS: dict[str, Callable[[ValidSchedule], Broken]] = {}
"""Every mutation, by its name in kebab case."""


def mutation(
    function: Callable[[ValidSchedule], Broken],
) -> Callable[[ValidSchedule], Broken]:
    """List a mutation under its name."""
    MUTATIONS[function.__name__.replace("_", "-")] = function
    return function


def reckoned(broken: SealedSchedule) -> SealedSchedule:
    """Return a schedule with true counts, replay's time if it has one, no certificate.

    Where it has none, the time stays as it was: `verify` compares it only where
    replay makes sense.
    """
    from lightloom.replay import replay

    try:
        time_ps = replay(broken).completion_time_ps
    except (ValueError, TypeError, IndexError, OverflowError):
        time_ps = broken.footer.completion_time_ps
    footer = Footer(
        len(broken.segments),
        broken.step_count,
        broken.circuit_count,
        broken.transfer_count,
        time_ps,
    )
    return replace(broken, footer=footer)


# What a schedule says of itself: fabric, task, references, footer.


def _with_task(given: ValidSchedule, **fields: object) -> Broken:
    """Return a schedule of a task with other fields."""
    task = msgspec.structs.replace(given.whole.task, **fields)
    return "task", reckoned(replace(given.whole, task=task))


def _with_part(given: ValidSchedule, number: int, **fields: object) -> SealedSchedule:
    """Return a schedule with fields of one part changed, and its footer reckoned."""
    parts = list(given.whole.parts)
    parts[number] = replace(parts[number], **fields)  # type: ignore[arg-type]
    return reckoned(replace(given.whole, parts=tuple(parts)))


@mutation
def unknown_key(given: ValidSchedule) -> Broken:
    """Give the fabric a key that it does not know."""
    table = {**given.whole.fabric, "colour": "blue"}
    return "fabric", replace(given.whole, fabric=table)


@mutation
def node_outside(given: ValidSchedule) -> Broken:
    """Let the task name a node that the fabric does not have."""
    task, beyond = given.whole.task, given.fabric.node_count
    if isinstance(task, Demand):
        return _with_task(given, src=(*task.src[:-1], beyond))
    nodes = list(task.nodes)
    at = given.rng.randrange(len(nodes))
    root = None if task.root == nodes[at] else task.root
    nodes[at] = beyond
    return _with_task(given, nodes=tuple(nodes), root=root)


@mutation
def self_demand(given: ValidSchedule) -> Broken:
    """Ask that a node send to itself."""
    task = given.task(Demand)
    return _with_task(given, dst=(*task.dst[:-1], task.src[-1]))


@mutation
def circuits_of_none(given: ValidSchedule) -> Broken:
    """Name a plane on a fabric without circuits."""
    if isinstance(given.fabric, CircuitFabric):
        raise DoesNotApplyError
    return "packet-has-circuits", _with_part(given, given.part(), plane=0)


@mutation
def no_such_plane(given: ValidSchedule) -> Broken:
    """Let a step use a plane beyond the last."""
    beyond = given.circuit_fabric.plane_count
    return "plane-range", _with_part(given, given.part(), plane=beyond)


@mutation
def no_such_segment(given: ValidSchedule) -> Broken:
    """Let the last step of a plane use a segment beyond its last."""
    _ = given.circuit_fabric, given.part()
    last, beyond = len(given.whole.parts) - 1, len(given.whole.segments)
    return "segment-exists", _with_part(given, last, segment=beyond)


@mutation
def segment_skipped(given: ValidSchedule) -> Broken:
    """Add a segment whose number is one too high."""
    _ = given.circuit_fabric
    segments = given.whole.segments
    some = given.choice(segments)
    count = sum(segment.plane == some.plane for segment in segments)
    more = Segment(some.plane, count + 1, some.circuits)
    return "segment-order", reckoned(replace(given.whole, segments=(*segments, more)))


@mutation
def step_skipped(given: ValidSchedule) -> Broken:
    """Give the last step a number that is one too high."""
    _ = given.part()
    last = given.whole.step_count - 1
    parts = tuple(
        replace(part, index=last + 1) if part.index == last else part
        for part in given.whole.parts
    )
    return "step-order", reckoned(replace(given.whole, parts=parts))


def _with_footer(given: ValidSchedule, **fields: Any) -> SealedSchedule:  # noqa: ANN401
    """Return a schedule with other claims in its footer."""
    return replace(given.whole, footer=replace(given.whole.footer, **fields))


@mutation
def false_count(given: ValidSchedule) -> Broken:
    """Claim one more of something than there is."""
    name = given.choice(["segments", "steps", "circuits", "transfers"])
    more = {name: getattr(given.whole.footer, name) + 1}
    return "footer-counts", _with_footer(given, **more)


@mutation
def false_time(given: ValidSchedule) -> Broken:
    """Claim a picosecond more or less than replay finds."""
    time_ps = given.whole.footer.completion_time_ps
    time_ps += given.choice([-1, 1]) if time_ps else 1
    changed = _with_footer(given, completion_time_ps=time_ps, certificates=())
    return "footer-time", changed


def _claimed(given: ValidSchedule) -> Certificate:
    """Return the certificate of the completion time."""
    certificate = given.whole.footer.certificate
    if certificate is None:
        raise DoesNotApplyError
    return certificate


def _with_claim(given: ValidSchedule, **fields: Any) -> SealedSchedule:  # noqa: ANN401
    """Return a schedule whose certificate claims something else."""
    return _with_footer(given, certificates=(replace(_claimed(given), **fields),))


@mutation
def false_bound(given: ValidSchedule) -> Broken:
    """Claim a bound one picosecond above what its witness proves."""
    return "certificate-bound", _with_claim(given, bound=_claimed(given).bound + 1)


@mutation
def false_kind(given: ValidSchedule) -> Broken:
    """Name a kind of certificate that nobody knows."""
    return "certificate-kind", _with_claim(given, kind="oracle")


@mutation
def false_value(given: ValidSchedule) -> Broken:
    """Let the certificate speak of another time than the footer's."""
    value = _claimed(given).value
    if value is None:
        raise DoesNotApplyError
    return "certificate-value", _with_claim(given, value=value + 1)


# Circuits: rows that no fabric could build, or not beside the others.


def _with_circuits(
    given: ValidSchedule, number: int, circuits: Circuits
) -> SealedSchedule:
    """Return a schedule with other circuits in one segment, its footer reckoned."""
    segments = list(given.whole.segments)
    segments[number] = replace(segments[number], circuits=circuits)
    return reckoned(replace(given.whole, segments=tuple(segments)))


def _joined(held: Circuits, more: Circuits) -> Circuits:
    """Return circuits and more of them, none of several destinations."""
    names = [
        kind.name
        for kind in COLUMNS
        if not kind.optional and getattr(held, kind.name) is not None
    ]
    return join_circuits([held, more], names)


def _one_rule(
    given: ValidSchedule, number: int, tried: Iterable[tuple[set[str], Circuits]]
) -> Broken:
    """Return one of the circuits that break a single rule, every rule as likely."""
    by_rule: dict[str, list[Circuits]] = {}
    for rules, circuits in tried:
        if len(rules) == 1:
            [rule] = rules
            by_rule.setdefault(rule, []).append(circuits)
    rule = given.choice(sorted(by_rule))
    return rule, _with_circuits(given, number, given.choice(by_rule[rule]))


@mutation
def circuit_too_many(given: ValidSchedule) -> Broken:
    """Add a sound circuit for which one kind of resource is used up."""
    fabric, number = given.circuit_fabric, given.lit_segment()
    held = given.whole.segments[number].circuits
    pairs = itertools.permutations(range(fabric.node_count), 2)
    paths = [path for pair in pairs for path in light_paths(fabric, pair)]
    chosen = given.rng.sample(paths, min(len(paths), MOST_TRIED))
    wider = (_joined(held, circuits_of(fabric, [path])) for path in chosen)
    tried = ((overused(fabric, circuits), circuits) for circuits in wider)
    return _one_rule(given, number, tried)


@mutation
def impossible_circuit(given: ValidSchedule) -> Broken:
    """Add a circuit that breaks one rule of the fabric by itself."""
    fabric, number = given.circuit_fabric, given.lit_segment()
    pairs = list(itertools.permutations(range(fabric.node_count), 2))
    odd = [
        path
        for pair in given.rng.sample(pairs, min(len(pairs), MOST_TRIED // 4))
        for path in (*conceivable(fabric, pair), *_strange(fabric, pair))
    ]
    if not odd:
        raise DoesNotApplyError
    held = given.whole.segments[number].circuits
    tried = (
        (rules, _joined(held, circuits_of(fabric, [path])))
        for path, rules in zip(odd, faults_of(fabric, odd), strict=True)
    )
    return _one_rule(given, number, tried)


def _strange(fabric: CircuitFabric, pair: tuple[int, int]) -> list[LightPath]:
    """Return light paths with a value out of range, or a route that is none."""
    paths = light_paths(fabric, pair)
    if not paths:
        return []
    path, strange = paths[0], []
    if "wavelengths" in fabric.circuit_columns:
        colour = path.wavelengths[0]
        beyond = wavelength_count(fabric)
        strange += [
            replace(path, wavelengths=lit)
            for lit in ((), (beyond,), (-1,), (colour, colour))
        ]
    if "direction" in fabric.circuit_columns:
        strange += [replace(path, direction=way) for way in (-1, 4)]
    if "transceiver" in fabric.circuit_columns:
        strange += [replace(path, transceiver=fabric.ports_per_node)]
    if "route" in fabric.circuit_columns:
        route = path.route
        odd_routes = [(route[0], fabric.node_count, *route[1:]), route[::-1]]
        odd_routes += [(route[0], route[1], *route), (route[0], route[-1])]
        strange += [replace(path, route=odd) for odd in odd_routes if odd != route]
    return strange


@mutation
def circuit_to_itself(given: ValidSchedule) -> Broken:
    """Add a circuit that leads back to its source."""
    return "self-circuit", _with_end(given, beyond=False)


@mutation
def circuit_to_nowhere(given: ValidSchedule) -> Broken:
    """Add a circuit to a node that the fabric does not have."""
    return "node-range", _with_end(given, beyond=True)


def _with_end(given: ValidSchedule, *, beyond: bool) -> SealedSchedule:
    """Return a schedule with a circuit that ends where none can."""
    number = given.lit_segment()
    circuits = given.whole.segments[number].circuits
    row = given.rng.randrange(len(circuits))
    more = circuits.take(np.array([row], dtype=np.int64))
    end = more.src * 0 + given.fabric.node_count if beyond else more.src
    return _with_circuits(given, number, _joined(circuits, replace(more, dst=end)))


@mutation
def missing_column(given: ValidSchedule) -> Broken:
    """Leave a column out of a segment."""
    number = given.lit_segment()
    names = [kind.name for kind in COLUMNS if not kind.optional]
    there = given.circuit_fabric.circuit_columns
    bare: dict[str, Any] = {given.choice(name for name in names if name in there): None}
    circuits = replace(given.whole.segments[number].circuits, **bare)
    return "circuit-columns", _with_circuits(given, number, circuits)


@mutation
def dropped_circuit(given: ValidSchedule) -> Broken:
    """Take away all circuits of a pair that transfers in a segment."""
    _ = given.circuit_fabric
    number, (src, dst) = given.choice(
        (place, pair)
        for place, segment in enumerate(given.whole.segments)
        for part in given.whole.parts
        if (part.plane, part.segment) == (segment.plane, segment.index)
        for pair in zip(
            part.transfers.src.tolist(), part.transfers.dst.tolist(), strict=True
        )
    )
    circuits = given.whole.segments[number].circuits
    kept = np.flatnonzero((circuits.src != src) | (circuits.dst != dst))
    return "circuit-held", _with_circuits(given, number, circuits.take(kept))


# Transfers: what moves, between whom, and when.

AnyTransfers = Transfers | FluidTransfers


def _with_row(rows: AnyTransfers, copied: int, **fields: int) -> AnyTransfers:
    """Return transfers and a copy of row `copied`, its `fields` changed, at the end."""
    columns: dict[str, Any] = {
        name: np.append(values, fields.get(name, int(values[copied])))
        for name, values in transfer_columns(rows).items()
    }
    return replace(rows, **columns)


def _with_value(rows: AnyTransfers, row: int, name: str, value: int) -> AnyTransfers:
    """Return transfers with one value changed."""
    values = getattr(rows, name).copy()
    values[row] = value
    changed: dict[str, Any] = {name: values}
    return replace(rows, **changed)


def _without_row(rows: AnyTransfers, row: int) -> AnyTransfers:
    """Return transfers but one."""
    columns: dict[str, Any] = {
        name: np.delete(values, row) for name, values in transfer_columns(rows).items()
    }
    return replace(rows, **columns)


def _with_more(given: ValidSchedule, **fields: int) -> SealedSchedule:
    """Return a schedule with one transfer repeated, some of its fields changed."""
    number, row = given.choice(given.rows())
    rows = _with_row(given.whole.parts[number].transfers, row, **fields)
    return _with_part(given, number, transfers=rows)


@mutation
def transfer_to_itself(given: ValidSchedule) -> Broken:
    """Add a transfer from a node to itself."""
    task = given.whole.task
    node = task.nodes[0] if isinstance(task, Collective) else 0
    return "self-transfer", _with_more(given, src=node, dst=node)


@mutation
def transfer_to_nowhere(given: ValidSchedule) -> Broken:
    """Add a transfer to a node that the fabric does not have."""
    return "node-range", _with_more(given, dst=given.fabric.node_count)


@mutation
def transfer_to_stranger(given: ValidSchedule) -> Broken:
    """Add a transfer to a node that has no rank."""
    if isinstance(given.fabric, CircuitFabric):
        raise DoesNotApplyError
    ranks = given.task(Collective).nodes
    outside = given.choice(
        node for node in range(given.fabric.node_count) if node not in ranks
    )
    return "rank-membership", _with_more(given, dst=outside)


@mutation
def chunk_beyond(given: ValidSchedule) -> Broken:
    """Add a transfer of chunks that do not exist, or of none."""
    task = given.task(Collective)
    total = op_of(task).chunk_total(task)
    none = [(total, total + 1), (0, total + 1), (-1, 1), (0, 0), (1, 0)]
    low, high = given.choice(none)
    return "chunk-range", _with_more(given, chunk_lo=low, chunk_hi=high)


@mutation
def no_bytes(given: ValidSchedule) -> Broken:
    """Add a transfer of no bytes, or of less."""
    given.task(Demand)
    return "bytes-range", _with_more(given, bytes=given.choice([0, -1]))


@mutation
def short_column(given: ValidSchedule) -> Broken:
    """Cut the last value off one column of a step."""
    number, _ = given.choice(given.rows())
    rows = given.whole.parts[number].transfers
    name = "chunk_hi" if isinstance(rows, Transfers) else "bytes"
    cut = replace(rows, **{name: getattr(rows, name)[:-1]})
    return "transfer-columns", _with_part(given, number, transfers=cut)


@mutation
def other_kind(given: ValidSchedule) -> Broken:
    """Move bytes for a collective, or chunks for a demand."""
    number, _ = given.choice(given.rows())
    rows = given.whole.parts[number].transfers
    ones = column([1] * len(rows))
    other: AnyTransfers = FluidTransfers(rows.src, rows.dst, ones)
    if isinstance(rows, FluidTransfers):
        other = Transfers(rows.src, rows.dst, ones * 0, ones, ones * int(Op.COPY))
    return "transfer-kind", _with_part(given, number, transfers=other)


@mutation
def wrong_bytes(given: ValidSchedule) -> Broken:
    """Move a byte more than was asked for, or leave a transfer out.

    A relay is sent enough all the same, and sends no more than that.
    """
    given.task(Demand)
    number, row = given.choice(given.rows())
    moved = given.whole.parts[number].transfers
    assert isinstance(moved, FluidTransfers)
    first = moved.final is not None and moved.final[row] != moved.dst[row]
    second = moved.origin is not None and moved.origin[row] != moved.src[row]
    more = _with_value(moved, row, "bytes", int(moved.bytes[row]) + 1)
    changed = [] if second else [more]
    changed += [] if first else [_without_row(moved, row)]
    return "demand-bytes", _with_part(given, number, transfers=given.choice(changed))


@mutation
def relays_forbidden(given: ValidSchedule) -> Broken:
    """Forbid the relays of a demand whose bytes take them."""
    given.task(Demand)
    if not any(
        isinstance(moved, FluidTransfers)
        and moved.origin is not None
        and moved.final is not None
        and ((moved.origin != moved.src) | (moved.final != moved.dst)).any()
        for moved in (part.transfers for part in given.whole.parts)
    ):
        raise DoesNotApplyError
    _, forbidden = _with_task(given, relays=False)
    return "demand-relays", forbidden


@mutation
def data_not_held(given: ValidSchedule) -> Broken:
    """Let a node send in the last step what reaches it in that step, or never.

    A transfer of the last step asks for a chunk that its source has not: another
    chunk, or the same one the other way round where a circuit leads back.
    """
    task = given.task(Collective)
    if op_of(task).reduces:
        raise DoesNotApplyError
    start, last = op_of(task).initial(task), given.whole.step_count - 1
    ranges = zip(*(_listed(start, "rank", "chunk_lo", "chunk_hi")), strict=True)
    held = {
        (task.nodes[rank], chunk)
        for rank, low, high in ranges
        for chunk in range(low, high)
    }
    held |= _written(part for part in given.whole.parts if part.index < last)
    written = _written(part for part in given.whole.parts if part.index == last)
    number, row, chunk = given.choice(
        (number, row, chunk)
        for number, row in given.rows(of_last_step=True)
        for chunk in range(op_of(task).chunk_total(task))
        if (_value(given, number, row, "src"), chunk) not in held
        and (_value(given, number, row, "dst"), chunk) not in written
    )
    moved = given.whole.parts[number].transfers
    rows = _with_row(moved, row, chunk_lo=chunk, chunk_hi=chunk + 1)
    return "source-holds-data", _with_part(given, number, transfers=rows)


def _value(given: ValidSchedule, number: int, row: int, name: str) -> int:
    return int(getattr(given.whole.parts[number].transfers, name)[row])


def _listed(rows: object, *names: str) -> list[list[int]]:
    return [getattr(rows, name).tolist() for name in names]


def _written(parts: Iterable[Any]) -> set[tuple[int, int]]:
    """Return the (node, chunk) that the transfers of some parts write."""
    return {
        (dst, chunk)
        for part in parts
        for dst, low, high in zip(
            *_listed(part.transfers, "dst", "chunk_lo", "chunk_hi"), strict=True
        )
        for chunk in range(low, high)
    }


def _again(given: ValidSchedule, op: Op) -> SealedSchedule:
    """Return a schedule in which one transfer of an operation is there twice."""
    number, row = given.choice(
        (number, row)
        for number, row in given.rows()
        if isinstance(moved := given.whole.parts[number].transfers, Transfers)
        and moved.op[row] == op
    )
    rows = _with_row(given.whole.parts[number].transfers, row)
    return _with_part(given, number, transfers=rows)


@mutation
def copied_twice(given: ValidSchedule) -> Broken:
    """Copy into the same chunk of the same node twice in a step."""
    return "write-conflict", _again(given, Op.COPY)


@mutation
def added_twice(given: ValidSchedule) -> Broken:
    """Add the same contribution twice in a step."""
    return "post-condition-double", _again(given, Op.REDUCE)


@mutation
def added_to_nothing(given: ValidSchedule) -> Broken:
    """Add, in the last step, where there is nothing to add to."""
    if op_of(given.task(Collective)).reduces:
        raise DoesNotApplyError
    number, row = given.choice(given.rows(of_last_step=True))
    moved = given.whole.parts[number].transfers
    rows = _with_value(moved, row, "op", int(Op.REDUCE))
    return "reduce-into-nothing", _with_part(given, number, transfers=rows)


@mutation
def left_out(given: ValidSchedule) -> Broken:
    """Leave out a transfer of the last step that somebody was waiting for."""
    task = given.task(Collective)
    final = op_of(task).final(task)
    wanted = {
        (task.nodes[rank], low, high)
        for rank, low, high in zip(
            *_listed(final, "rank", "chunk_lo", "chunk_hi"), strict=True
        )
    }
    number, row = given.choice(
        sorted(
            (number, row)
            for number, row in given.rows(of_last_step=True)
            for node, low, high in wanted
            if _value(given, number, row, "dst") == node
            and low <= _value(given, number, row, "chunk_lo") < high
        )
    )
    rows = _without_row(given.whole.parts[number].transfers, row)
    return "post-condition-missing", _with_part(given, number, transfers=rows)
