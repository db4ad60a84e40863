"""Schedules with certificates of objectives, true ones and false ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from tests.examples import small_schedules as made
from tests.examples.rings_and_switches import ocs_demand, ring_demand

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule

Mutant = tuple[str, str, "Callable[[], Schedule]"]
"""Name, rule, and the broken schedule."""
Claim = dict[str, Any]

EDGES = [[0, 1, 1], [0, 2, 1]]
"""Both edges out of tile 0, equally long."""
ROUNDS: Claim = {"kind": "receive", "bound": 1, "value": 1, "witness": {"node": 0}}
CUT: Claim = {"kind": "cut", "bound": 1, "value": 2, "witness": {"nodes": [0]}}
LENGTHS: Claim = {
    "kind": "edge-lengths",
    "bound": 1,
    "value": 2,
    "witness": {"edges": EDGES, "denominator": 2},
}
PORT: Claim = {
    "kind": "saturated-port",
    "bound": Fraction(1, 1000),
    "value": Fraction(1, 1000),
    "witness": {"side": "row", "node": 0},
}
NODE: Claim = {
    "kind": "crowded-node",
    "bound": Fraction(3, 1000),
    "value": Fraction(1, 1000),
    "witness": {"side": "column", "node": 2},
}
SPANS: Claim = {
    **NODE,
    "kind": "crowded-spans",
    "bound": Fraction(3, 500),
    "witness": {"spans": [[0, 2]]},
}
LONG: Claim = {
    **NODE,
    "kind": "long-circuits",
    "bound": Fraction(3, 250),
    "witness": {"hops": 2, "directions": [0, 1]},
}

PRICES: Claim = {
    **NODE,
    "kind": "priced-pairs",
    "bound": Fraction(3, 250),
    "witness": {"prices": [1, 1, 1]},
}


def carrying(base: Schedule, objective: str, *claims: Claim) -> Schedule:
    """Return a schedule with certificates of one objective in its footer."""
    assert base.footer is not None
    certificates = tuple(Certificate(objective=objective, **claim) for claim in claims)
    return replace(base, footer=replace(base.footer, certificates=certificates))


def twice(base: Schedule) -> Schedule:
    """Return a schedule with two true certificates of its completion time."""
    assert base.footer is not None
    time_ps = base.footer.completion_time_ps
    claim = Certificate(COMPLETION_TIME, "volume", 1, time_ps)
    return replace(base, footer=replace(base.footer, certificates=(claim, claim)))


def rounds(**fields: object) -> Schedule:
    """Return the exchange of a pair, one round, fields of its claim changed."""
    return carrying(made.all_reduce_pair(), "rounds", ROUNDS | fields)


def congestion(claim: Claim = LENGTHS, **fields: object) -> Schedule:
    """Return the demand, with two light paths on two edges; fields changed."""
    return carrying(made.demand_2x2(), "congestion", claim | fields)


def lengths(edges: object, denominator: object) -> Schedule:
    """Return the demand with other edge lengths."""
    return congestion(witness={"edges": edges, "denominator": denominator})


def switches(**fields: object) -> Schedule:
    """Return the demand on switches, fields of its claim changed."""
    return carrying(ocs_demand(), "circuits-per-byte", PORT | fields)


def ring(claim: Claim = NODE, **fields: object) -> Schedule:
    """Return the demand on a ring, fields of a claim changed."""
    return carrying(ring_demand(), "circuits-per-byte", claim | fields)


TRUE: tuple[tuple[str, bool, Callable[[], Schedule]], ...] = (
    ("rounds", True, rounds),
    ("weaker bound on rounds", False, lambda: rounds(bound=0)),
    ("volume", True, lambda: rounds(kind="volume", witness={})),
    (
        "growth",
        True,
        lambda: rounds(kind="growth", witness={"node": 1, "direction": 1}),
    ),
    ("cut of rounds", True, lambda: rounds(kind="cut", witness={"nodes": [1]})),
    ("direct", True, lambda: rounds(kind="direct", witness={"nodes": [1]})),
    ("edge lengths", False, congestion),
    ("cut", False, lambda: congestion(CUT)),
    ("saturated port", True, switches),
    ("weaker bound on ports", False, lambda: switches(bound=Fraction(1, 999))),
    ("crowded node", False, ring),
    ("crowded spans", False, lambda: ring(SPANS)),
    ("long circuits", False, lambda: ring(LONG)),
    ("priced pairs", False, lambda: ring(PRICES)),
)
"""Name, whether it proves optimality, and the schedule."""

_NAME, _KIND = "objective-name", "objective-kind"
_WITNESS, _BOUND, _VALUE = "objective-witness", "objective-bound", "objective-value"
MUTANTS: tuple[Mutant, ...] = (
    (
        "unknown objective",
        _NAME,
        lambda: carrying(made.all_reduce_pair(), "beauty", ROUNDS),
    ),
    (
        "objective twice",
        _NAME,
        lambda: carrying(made.all_reduce_pair(), "rounds", ROUNDS, ROUNDS),
    ),
    (
        "rounds of two chunks a circuit",
        _NAME,
        lambda: carrying(made.all_gather_2x2(), "rounds", {**ROUNDS, "value": 2}),
    ),
    (
        "rounds of two segments a step",
        _NAME,
        lambda: carrying(made.split_all_reduce(), "rounds", {**ROUNDS, "value": 2}),
    ),
    ("rounds of a demand", _NAME, lambda: carrying(ocs_demand(), "rounds", ROUNDS)),
    (
        "congestion over two segments",
        _NAME,
        lambda: carrying(made.all_gather_2x2(), "congestion", CUT),
    ),
    (
        "circuits per byte of a grid",
        _NAME,
        lambda: carrying(made.demand_2x2(), "circuits-per-byte", PORT),
    ),
    (
        "makespan of a schedule",
        _NAME,
        lambda: carrying(made.all_reduce_pair(), "makespan", ROUNDS),
    ),
    ("completion time twice", _NAME, lambda: twice(made.all_reduce_pair())),
    ("unknown kind of argument", _KIND, lambda: rounds(kind="oracle")),
    ("kind of another objective", _KIND, lambda: rounds(kind="edge-lengths")),
    ("kind of another fabric", _KIND, lambda: switches(kind="crowded-node")),
    ("no such node", _WITNESS, lambda: rounds(witness={"node": 2})),
    ("surplus key", _WITNESS, lambda: rounds(witness={"node": 0, "nodes": [0]})),
    ("list for a number", _WITNESS, lambda: rounds(witness={"node": [0]})),
    (
        "node of a cut named twice",
        _WITNESS,
        lambda: congestion(CUT, witness={"nodes": [0, 0]}),
    ),
    ("length of no edge", _WITNESS, lambda: lengths([[0, 3, 2]], 2)),
    ("length off the grid", _WITNESS, lambda: lengths([[0, -1, 2]], 2)),
    ("length given twice", _WITNESS, lambda: lengths([*EDGES, [0, 1, 1]], 3)),
    ("lengths that do not add up", _WITNESS, lambda: lengths(EDGES, 1)),
    ("negative length", _WITNESS, lambda: lengths([[0, 1, 3], [0, 2, -1]], 2)),
    ("ragged lengths", _WITNESS, lambda: lengths([[0, 1]], 1)),
    ("length too large", _WITNESS, lambda: lengths([[0, 1, 2**70]], 2**70)),
    ("words for a denominator", _WITNESS, lambda: lengths(EDGES, "2")),
    ("side there is not", _WITNESS, lambda: switches(witness={"side": "x", "node": 0})),
    ("span there is not", _WITNESS, lambda: ring(SPANS, witness={"spans": [[0, 4]]})),
    ("flat spans", _WITNESS, lambda: ring(SPANS, witness={"spans": [0, 1]})),
    (
        "direction named twice",
        _WITNESS,
        lambda: ring(LONG, witness={"hops": 2, "directions": [0, 0]}),
    ),
    ("price too few", _WITNESS, lambda: ring(PRICES, witness={"prices": [1, 1]})),
    ("rounds not proven", _BOUND, lambda: rounds(bound=2)),
    (
        "direct not proven",
        _BOUND,
        lambda: rounds(kind="direct", bound=2, witness={"nodes": [1]}),
    ),
    ("no middle round", _WITNESS, lambda: rounds(kind="middle", witness={})),
    ("rounds in parts", _BOUND, lambda: rounds(bound=Fraction(1, 2))),
    ("congestion not proven", _BOUND, lambda: congestion(bound=2)),
    ("cut not proven", _BOUND, lambda: congestion(CUT, bound=2)),
    ("lengths where nobody goes", _BOUND, lambda: lengths([[1, 0, 1], [2, 0, 1]], 2)),
    ("port with room", _BOUND, lambda: switches(bound=Fraction(1, 1001))),
    (
        "port of another node",
        _BOUND,
        lambda: switches(witness={"side": "row", "node": 3}),
    ),
    ("ring node with room", _BOUND, lambda: ring(bound=Fraction(1, 1000))),
    ("ring spans with room", _BOUND, lambda: ring(SPANS, bound=Fraction(1, 1000))),
    ("prices with room", _BOUND, lambda: ring(PRICES, bound=Fraction(1, 1000))),
    ("ring with room for long", _BOUND, lambda: ring(LONG, bound=Fraction(1, 1000))),
    ("another number of rounds", _VALUE, lambda: rounds(bound=0, value=0)),
    ("no value", _VALUE, lambda: rounds(value=None)),
    ("congestion of fewer edges", _VALUE, lambda: congestion(value=1)),
    ("another slowest pair", _VALUE, lambda: switches(value=Fraction(1, 2000))),
)
