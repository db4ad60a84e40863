"""Broken schedules: each trips exactly one rule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.schedule import Op, Schedule, Segment, StepPart, Transfers
from lightloom.core.task import Collective, Demand
from lightloom.instances.fabrics import load_fabric
from lightloom.synth.bounds import LowerBounds
from tests.examples import small_schedules as made
from tests.examples.relays import MUTANTS as OF_RELAYS
from tests.examples.rings_2d import MUTANTS as OF_RINGS_2D
from tests.examples.rings_and_switches import MUTANTS as OF_RINGS_AND_SWITCHES
from tests.examples.small_schedules import (
    fluid,
    moves,
    sealed,
    with_bound,
    with_circuits,
    with_transfers,
)
from tests.validate.objective_mutants import MUTANTS as OF_OBJECTIVES
from tests.validate.ramp import MUTANTS as OF_RAMP
from tests.validate.sipac import MUTANTS as OF_SIPAC

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.certificate import Witness

Mutant = tuple[str, str, "Callable[[], Schedule]"]
"""Name, rule, and the broken schedule."""

ACROSS = [([0, 1], [0]), ([1, 0], [0]), ([2, 3], [0]), ([3, 2], [0])]
FIRST = [(0, 1, 0, 1), (1, 0, 1, 2), (2, 3, 2, 3), (3, 2, 3, 4)]


def gather(rows: list[tuple[list[int], list[int]]]) -> Schedule:
    """Return the all-gather with other circuits in its first segment."""
    return with_circuits(made.all_gather_2x2(), 0, made.circuits(rows))


def first(rows: list[tuple[int, int, int, int]]) -> Schedule:
    """Return the all-gather with other transfers in its first step."""
    return with_transfers(made.all_gather_2x2(), 0, moves(rows))


def renamed(src: list[int], dst: list[int]) -> Schedule:
    """Return the all-gather with other ends of the first segment's circuits."""
    base = made.all_gather_2x2()
    rows = base.segments[0].circuits
    ends = replace(rows, src=column(src), dst=column(dst))
    return with_circuits(base, 0, ends)


def extra_circuit(row: tuple[list[int], list[int]], src: int, dst: int) -> Schedule:
    """Return the all-gather with one more circuit, its ends as given."""
    base = gather([*ACROSS, row])
    rows = base.segments[0].circuits
    src_column, dst_column = rows.src.copy(), rows.dst.copy()
    src_column[-1], dst_column[-1] = src, dst
    return with_circuits(base, 0, replace(rows, src=src_column, dst=dst_column))


def reduced(rows: list[tuple[int, int, int, int]], *more: Transfers) -> Schedule:
    """Return the exchange of a pair with other rows, then more steps."""
    base = made.all_reduce_pair()
    parts = [replace(base.parts[0], transfers=moves(rows, Op.REDUCE))]
    parts += [StepPart(step, 0, 0, rows) for step, rows in enumerate(more, start=1)]
    return sealed(replace(base, parts=tuple(parts)))


def joined(*columns: Transfers) -> Transfers:
    """Return transfers laid end to end."""
    names = ("src", "dst", "chunk_lo", "chunk_hi", "op")
    return Transfers(
        *(np.concatenate([getattr(rows, name) for rows in columns]) for name in names)
    )


def part_field(line: int, /, **fields: Any) -> Schedule:  # noqa: ANN401
    """Return the all-gather with fields of one step line changed."""
    base = made.all_gather_2x2()
    parts = list(base.parts)
    parts[line] = replace(parts[line], **fields)
    return sealed(replace(base, parts=tuple(parts)))


def footer_field(**fields: Any) -> Schedule:  # noqa: ANN401
    """Return the all-gather with a false footer."""
    base = made.all_gather_2x2()
    assert base.footer is not None
    return replace(base, footer=replace(base.footer, **fields))


def certified(**fields: Any) -> Schedule:  # noqa: ANN401
    """Return the all-gather with its certificate, some fields of it false."""
    base = made.all_gather_2x2()
    assert base.footer is not None
    true = LowerBounds(load_fabric(base.fabric), base.task).best()
    assert true is not None
    values: dict[str, Any] = {
        "kind": true.kind,
        "bound": true.bound,
        "value": base.footer.completion_time_ps,
        "witness": true.witness,
        **fields,
    }
    return with_bound(base, Certificate(COMPLETION_TIME, **values))


def by_links(
    witness: Witness, more_ps: int = 0, kind: str = "link-lengths"
) -> Schedule:
    """Return the all-gather on a switch, with a bound that its one step proves."""
    base = made.switch_all_gather()
    assert base.footer is not None
    value = base.footer.completion_time_ps
    proven = COMPLETION_TIME, kind, value + more_ps, value, witness
    return with_bound(base, Certificate(*proven))


def retasked(base: Schedule, **fields: object) -> Schedule:
    """Return a schedule whose collective has other fields."""
    assert isinstance(base.task, Collective)
    return sealed(replace(base, task=msgspec.structs.replace(base.task, **fields)))


def backwards() -> Schedule:
    """Return the ring with a second, equal segment used before the first."""
    base = made.all_reduce_ring()
    again = Segment(0, 1, base.segments[0].circuits)
    parts = list(base.parts)
    parts[1] = replace(parts[1], segment=1)
    return sealed(replace(base, segments=(*base.segments, again), parts=tuple(parts)))


def below_zero() -> Schedule:
    """Return the exchange of a pair with its only segment numbered -1."""
    base = made.all_reduce_pair()
    segment = replace(base.segments[0], index=-1)
    part = replace(base.parts[0], segment=-1)
    return sealed(replace(base, segments=(segment,), parts=(part,)))


def twice_in_a_step() -> Schedule:
    """Return the all-gather with its first step in two lines of one segment."""
    base = made.all_gather_2x2()
    halves = [replace(base.parts[0], transfers=moves(FIRST[a : a + 2])) for a in (0, 2)]
    return sealed(replace(base, parts=(*halves, base.parts[1])))


def narrow_columns() -> Schedule:
    """Return the all-gather with one chunk_hi too few in its first step."""
    rows = moves(FIRST)
    return with_transfers(
        made.all_gather_2x2(), 0, replace(rows, chunk_hi=rows.chunk_hi[:-1])
    )


def unknown_op() -> Schedule:
    """Return the all-gather with an operation that does not exist."""
    rows = moves(FIRST)
    strange = replace(rows, op=column([0, 0, 0, 7]))
    return with_transfers(made.all_gather_2x2(), 0, strange)


def stranger() -> Schedule:
    """Return a pair's exchange on a longer line, with a detour to tile 2."""
    base = made.all_reduce_pair()
    rows = made.circuits(
        [([0, 1], [0]), ([1, 0], [0]), ([1, 2], [1])],
    )
    wide = replace(base, fabric=made.grid(1, 3))
    wide = with_circuits(wide, 0, rows)
    more = StepPart(1, 0, 0, moves([(1, 2, 0, 1)]))
    return sealed(replace(wide, parts=(*wide.parts, more)))


def no_wavelength_column() -> Schedule:
    """Return the all-gather without the column wavelengths."""
    base = made.all_gather_2x2()
    rows = base.segments[0].circuits
    return with_circuits(base, 0, Circuits(rows.src, rows.dst, None, rows.route))


def short_route_column() -> Schedule:
    """Return the all-gather with one route too few."""
    base = made.all_gather_2x2()
    rows = base.segments[0].circuits
    assert rows.route is not None
    routes = Ragged.from_lists(rows.route.to_lists()[:-1])
    return with_circuits(base, 0, replace(rows, route=routes))


def demanded(*rows: tuple[int, int, int]) -> Schedule:
    """Return the demand with other transfers."""
    return with_transfers(made.demand_2x2(), 0, fluid(list(rows)))


SERVED = ((0, 1, 500), (0, 3, 300), (0, 3, 400), (3, 2, 900))


def one_laser() -> Schedule:
    """Return a line of three with two circuits of tile 1 on one laser."""
    base = made.split_all_reduce()
    rows = made.circuits([([0, 1], [0]), ([1, 0], [1]), ([1, 2], [1])])
    return with_circuits(base, 0, rows)


def one_photodiode() -> Schedule:
    """Return a line of three with two circuits into one photodiode of tile 1."""
    base = made.split_all_reduce()
    return with_circuits(base, 0, made.circuits([([0, 1], [0]), ([2, 1], [0])]))


def one_waveguide() -> Schedule:
    """Return a line of four with two circuits on one wavelength of edge 1 -> 2."""
    rows = [([0, 1, 2], [1]), ([1, 2, 3], [0])]
    swapped = [rows[0], ([1, 2, 3], [1])]
    return made.schedule(
        made.grid(1, 4),
        Demand.from_rows([(0, 2, 10), (1, 3, 10)]),
        [made.circuits(swapped)],
        [(0, fluid([(0, 2, 10), (1, 3, 10)]))],
    )


def two_copies() -> Schedule:
    """Return a broadcast in which both others copy to tile 2 at once."""
    line = [([0, 1], [0]), ([1, 2], [0]), ([0, 1, 2], [1])]
    return made.schedule(
        made.grid(1, 3),
        Collective("broadcast", (0, 1, 2), 30, 3),
        [made.circuits(line)],
        [
            (0, moves([(0, 1, 0, 3)])),
            (0, moves([(0, 2, 0, 3), (1, 2, 1, 2)])),
        ],
    )


def missing_chunk() -> Schedule:
    """Return the all-gather whose last step forgets the last chunk of tile 1."""
    rows = [(0, 2, 0, 2), (2, 0, 2, 4), (1, 3, 0, 2), (3, 1, 2, 3)]
    return with_transfers(made.all_gather_2x2(), 1, moves(rows))


def unasked() -> Schedule:
    """Return the demand with a fourth pair served."""
    base = made.demand_2x2()
    rows = made.circuits(
        [([0, 1], [0]), ([0, 1, 3], [1]), ([3, 2], [0, 1]), ([1, 0], [0])]
    )
    wide = with_circuits(base, 0, rows)
    return with_transfers(wide, 0, fluid([*SERVED, (1, 0, 5)]))


MUTANTS: tuple[Mutant, ...] = (
    (
        "unknown fabric key",
        "fabric",
        lambda: sealed(
            replace(made.all_gather_2x2(), fabric={**made.grid(2, 2), "lazers": 3})
        ),
    ),
    (
        "node of the task outside",
        "task",
        lambda: retasked(made.all_gather_2x2(), nodes=(0, 1, 2, 4)),
    ),
    (
        "chunks that blocks do not divide",
        "task",
        lambda: retasked(made.all_gather_2x2(), chunks=2),
    ),
    ("chunks not chosen", "task", lambda: retasked(made.all_gather_2x2(), chunks=None)),
    (
        "demand of a node for itself",
        "task",
        lambda: sealed(replace(made.demand_2x2(), task=Demand((1,), (1,), (5,)))),
    ),
    (
        "demand unsorted",
        "task",
        lambda: sealed(replace(made.demand_2x2(), task=Demand((1, 0), (0, 1), (5, 5)))),
    ),
    (
        "demand of nothing",
        "task",
        lambda: sealed(replace(made.demand_2x2(), task=Demand((0,), (1,), (0,)))),
    ),
    (
        "segment on a switch",
        "packet-has-circuits",
        lambda: sealed(
            replace(made.switch_all_gather(), segments=made.all_gather_2x2().segments)
        ),
    ),
    (
        "plane on a switch",
        "packet-has-circuits",
        lambda: sealed(
            replace(
                made.switch_all_gather(),
                parts=(replace(made.switch_all_gather().parts[0], plane=0),),
            )
        ),
    ),
    (
        "segment of no plane",
        "plane-range",
        lambda: sealed(
            replace(
                made.all_gather_2x2(),
                segments=(
                    *made.all_gather_2x2().segments,
                    Segment(3, 0, made.circuits(ACROSS)),
                ),
            )
        ),
    ),
    ("step of no plane", "plane-range", lambda: part_field(0, plane=1)),
    ("step without plane", "plane-range", lambda: part_field(0, plane=None)),
    (
        "segment index skipped",
        "segment-order",
        lambda: sealed(
            replace(
                made.all_gather_2x2(),
                segments=(
                    *made.all_gather_2x2().segments,
                    Segment(0, 3, made.circuits(ACROSS)),
                ),
            )
        ),
    ),
    ("step in an earlier segment", "segment-order", backwards),
    ("negative segment index", "segment-order", below_zero),
    ("segment that is not there", "segment-exists", lambda: part_field(1, segment=2)),
    ("step without segment", "segment-exists", lambda: part_field(1, segment=None)),
    ("wrong step index", "step-order", lambda: part_field(1, index=2)),
    (
        "first step not 0",
        "step-order",
        lambda: sealed(
            replace(
                made.all_reduce_pair(),
                parts=(replace(made.all_reduce_pair().parts[0], index=1),),
            )
        ),
    ),
    ("segment named twice in a step", "step-order", twice_in_a_step),
    ("no wavelengths", "circuit-columns", no_wavelength_column),
    ("too few routes", "circuit-columns", short_route_column),
    ("circuit to no node", "node-range", lambda: extra_circuit(([0, 2], [1]), 0, 9)),
    ("transfer to no node", "node-range", lambda: first([*FIRST, (0, 7, 0, 1)])),
    ("self circuit", "self-circuit", lambda: extra_circuit(([0, 2], [1]), 0, 0)),
    (
        "wavelength out of range",
        "wavelength-range",
        lambda: gather([*ACROSS[:3], ([3, 2], [2])]),
    ),
    ("no wavelength", "wavelength-range", lambda: gather([*ACROSS[:3], ([3, 2], [])])),
    (
        "wavelength named twice",
        "wavelength-range",
        lambda: gather([*ACROSS[:3], ([3, 2], [0, 0])]),
    ),
    ("route with a jump", "route-is-path", lambda: gather([*ACROSS, ([0, 3], [1])])),
    (
        "route off the grid",
        "route-is-path",
        lambda: extra_circuit(([0, 4, 2], [1]), 0, 2),
    ),
    ("shortened route", "route-ends", lambda: extra_circuit(([0, 2], [1]), 0, 3)),
    (
        "route of another circuit",
        "route-ends",
        lambda: renamed([0, 1, 3, 2], [1, 0, 2, 3]),
    ),
    (
        "route through a tile twice",
        "route-is-simple",
        lambda: gather([*ACROSS, ([0, 1, 3, 2, 0, 2], [1])]),
    ),
    ("two circuits of one laser", "lasers", one_laser),
    ("two circuits into one photodiode", "photodiodes", one_photodiode),
    ("swapped wavelength", "waveguides", one_waveguide),
    ("dropped circuit", "circuit-held", lambda: gather(ACROSS[:3])),
    (
        "transfer on a circuit not held",
        "circuit-held",
        lambda: first([*FIRST, (0, 3, 0, 1)]),
    ),
    (
        "step in a segment without its circuits",
        "circuit-held",
        lambda: part_field(0, segment=1),
    ),
    (
        "fluid transfer in a collective",
        "transfer-kind",
        lambda: with_transfers(made.all_gather_2x2(), 0, fluid([(0, 1, 1024)])),
    ),
    (
        "chunk transfer for a demand",
        "transfer-kind",
        lambda: with_transfers(made.demand_2x2(), 0, moves([(0, 1, 0, 1)])),
    ),
    ("columns of different length", "transfer-columns", narrow_columns),
    ("unknown operation", "transfer-columns", unknown_op),
    ("self transfer", "self-transfer", lambda: first([*FIRST, (0, 0, 0, 1)])),
    ("transfer to a node without rank", "rank-membership", stranger),
    ("empty chunk range", "chunk-range", lambda: first([*FIRST[:3], (3, 2, 3, 3)])),
    ("backward chunk range", "chunk-range", lambda: first([*FIRST[:3], (3, 2, 4, 3)])),
    ("chunk out of range", "chunk-range", lambda: first([*FIRST[:3], (3, 2, 3, 5)])),
    ("negative chunk", "chunk-range", lambda: first([*FIRST[:3], (3, 2, -1, 4)])),
    ("fluid transfer of nothing", "bytes-range", lambda: demanded(*SERVED, (0, 1, 0))),
    ("negative bytes", "bytes-range", lambda: demanded(*SERVED, (0, 1, -5))),
    (
        "copy of data not held",
        "source-holds-data",
        lambda: first([*FIRST, (3, 2, 0, 1)]),
    ),
    (
        "data that arrive in the same step",
        "source-holds-data",
        lambda: with_transfers(
            made.all_gather_2x2(),
            1,
            moves([(0, 2, 0, 2), (2, 0, 2, 4), (1, 3, 0, 3), (3, 1, 2, 4)]),
        ),
    ),
    (
        "reduce into nothing",
        "reduce-into-nothing",
        lambda: with_transfers(
            made.all_gather_2x2(),
            0,
            joined(moves(FIRST[:3]), moves(FIRST[3:], Op.REDUCE)),
        ),
    ),
    ("two copies", "write-conflict", two_copies),
    (
        "copy and reduce",
        "write-conflict",
        lambda: with_transfers(
            made.all_reduce_pair(),
            0,
            joined(
                moves([(0, 1, 0, 2), (1, 0, 0, 2)], Op.REDUCE), moves([(0, 1, 1, 2)])
            ),
        ),
    ),
    ("missing chunk", "post-condition-missing", missing_chunk),
    (
        "wrong operation",
        "post-condition-missing",
        lambda: with_transfers(
            made.all_reduce_pair(), 0, moves([(0, 1, 0, 2), (1, 0, 0, 2)])
        ),
    ),
    (
        "double reduce",
        "post-condition-double",
        lambda: reduced(
            [(0, 1, 0, 2), (1, 0, 0, 2)], moves([(0, 1, 1, 2), (1, 0, 1, 2)], Op.REDUCE)
        ),
    ),
    (
        "the same reduce twice in a step",
        "post-condition-double",
        lambda: reduced([(0, 1, 0, 2), (0, 1, 0, 1), (1, 0, 0, 2)]),
    ),
    ("too few bytes", "demand-bytes", lambda: demanded(*SERVED[:3], (3, 2, 899))),
    ("too many bytes", "demand-bytes", lambda: demanded(*SERVED[:3], (3, 2, 901))),
    ("pair nobody asked for", "demand-bytes", unasked),
    ("wrong number of segments", "footer-counts", lambda: footer_field(segments=3)),
    ("wrong number of steps", "footer-counts", lambda: footer_field(steps=1)),
    ("wrong number of circuits", "footer-counts", lambda: footer_field(circuits=9)),
    ("wrong number of transfers", "footer-counts", lambda: footer_field(transfers=7)),
    ("time too short", "footer-time", lambda: footer_field(completion_time_ps=8963840)),
    ("time too long", "footer-time", lambda: footer_field(completion_time_ps=8963842)),
    (
        "unknown kind of certificate",
        "certificate-kind",
        lambda: certified(kind="oracle"),
    ),
    (
        "witness of another kind",
        "certificate-witness",
        lambda: certified(kind="receive", witness={"nodes": [0]}),
    ),
    (
        "witness outside the fabric",
        "certificate-witness",
        lambda: certified(kind="receive", witness={"node": 4}),
    ),
    (
        "witness node named twice",
        "certificate-witness",
        lambda: certified(kind="cut", witness={"nodes": [1, 1]}),
    ),
    (
        "price of a resource that is none",
        "certificate-witness",
        lambda: certified(kind="prices", witness={"resources": [10**6], "prices": [1]}),
    ),
    (
        "price below nothing",
        "certificate-witness",
        lambda: certified(
            kind="prices", witness={"resources": [0, 1], "prices": [1, -1]}
        ),
    ),
    (
        "resource priced twice",
        "certificate-witness",
        lambda: certified(
            kind="prices", witness={"resources": [4, 4], "prices": [1, 1]}
        ),
    ),
    (
        "prices that prove less than the bound",
        "certificate-bound",
        lambda: by_links(
            {"resources": [8, 9], "prices": [1, 1]}, more_ps=1, kind="prices"
        ),
    ),
    ("bound that is not proven", "certificate-bound", lambda: certified(bound=5181921)),
    (
        "links that prove less than the bound",
        "certificate-bound",
        lambda: by_links({"links": [0, 1], "lengths": [1, 1]}, more_ps=1),
    ),
    (
        "a length without a link",
        "certificate-witness",
        lambda: by_links({"links": [0, 1, 2, 3], "lengths": [1, 1, 1, 1, 1]}),
    ),
    (
        "a link that no route uses",
        "certificate-witness",
        lambda: by_links({"links": [0, 1, 2, 8], "lengths": [1, 1, 1, 1]}),
    ),
    ("value that is not the time", "certificate-value", lambda: certified(value=1)),
    ("value missing", "certificate-value", lambda: certified(value=None)),
    *OF_RINGS_2D,
    *OF_RINGS_AND_SWITCHES,
    *OF_RAMP,
    *OF_RELAYS,
    *OF_SIPAC,
    *OF_OBJECTIVES,
)
