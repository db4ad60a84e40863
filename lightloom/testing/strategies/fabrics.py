"""Strategies for fabrics of every kind, small enough to think about, and for tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from lightloom.core.errors import InputError, nearest
from lightloom.core.task import Collective, Demand
from lightloom.instances.collectives import COLLECTIVES
from lightloom.instances.fabrics import FABRICS
from lightloom.instances.instance import Instance
from lightloom.testing.strategies.candidate_circuits import joined_pairs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


Keys = dict[str, st.SearchStrategy[Any]]

_TIMES = st.sampled_from([0, 1, 700_000, 3_700_000])
_RATES = st.sampled_from([8 * 10**12, 150_000_000_000, 7_000_000_001])
_DARK = st.sampled_from(["plane", "changed-circuits"])
_BOTH = st.booleans()

_EVERY: Keys = {"alpha_ps": _TIMES}
_CIRCUITS: Keys = {
    **_EVERY,
    "reconfiguration_ps": _TIMES,
    "initial_configuration_charged": _BOTH,
    "dark_while_reconfiguring": _DARK,
}
_NODES = st.sampled_from([2, 3, 4, 5, 6, 1])
_NODE_RATE: Keys = {"bits_per_second_per_node": _RATES}
_SWITCH: Keys = {"switch_latency_ps": st.sampled_from([0, 1234])}
_HOPS: Keys = {"hop_latency_ps": st.sampled_from([0, 1234])}

# Every choice of the keys of a kind is a fabric; the first of each is the simplest.
_KEYS: dict[str, Keys] = {
    "bcube": {
        "radix": st.integers(2, 3),
        "level": st.integers(0, 1),
        **_NODE_RATE,
        **_EVERY,
        **_HOPS,
    },
    "electrical-cluster": {
        "nodes": _NODES,
        "nodes_per_server": st.integers(1, 3),
        "uplinks": st.sampled_from(["server", "node"]),
        "bits_per_second_per_uplink": _RATES,
        **_NODE_RATE,
        **_EVERY,
        **_SWITCH,
    },
    "fat-tree": {
        "nodes": _NODES,
        "nodes_per_leaf": st.integers(1, 3),
        "leaves_per_pod": st.integers(1, 2),
        "oversubscription": st.integers(1, 3),
        "pod_oversubscription": st.integers(1, 2),
        **_NODE_RATE,
        **_EVERY,
        **_SWITCH,
    },
    "ideal-switch": {"nodes": _NODES, **_NODE_RATE, **_EVERY, **_SWITCH},
    "lightpath": {
        "rows": st.integers(1, 3),
        "cols": st.integers(1, 3),
        "wafer_rows": st.integers(1, 2),
        "wafer_cols": st.integers(1, 2),
        "lasers": st.integers(1, 3),
        "waveguides": st.integers(1, 2),
        "fibers": st.sampled_from([None, 1, 2]),
        "bits_per_second_per_wavelength": _RATES,
        **_CIRCUITS,
    },
    "ocs": {
        "nodes": _NODES,
        "switches": st.integers(1, 3),
        "bidirectional": _BOTH,
        **_NODE_RATE,
        **_CIRCUITS,
    },
    "ring": {
        "nodes": _NODES,
        "wavelengths": st.integers(1, 3),
        "bits_per_second_per_wavelength": _RATES,
        "directions": st.integers(1, 2),
        "reach": st.integers(1, 6),
        "shared_transceivers": _BOTH,
        **_CIRCUITS,
    },
    "ring-2d": {
        "rows": st.integers(1, 3),
        "cols": st.integers(1, 3),
        "row_wavelengths": st.integers(1, 3),
        "column_wavelengths": st.integers(1, 2),
        "bits_per_second_per_wavelength": _RATES,
        "directions": st.integers(1, 2),
        "shared_transceivers": _BOTH,
        "power_budget_millidb": st.sampled_from([625, 1250, 10_000]),
        **_CIRCUITS,
    },
    "sipac": {
        "radix": st.integers(2, 3),
        "wavelengths_per_peer": st.integers(1, 2),
        "loopback": _BOTH,
        "switching": st.sampled_from(["tunable", "fixed"]),
        **_NODE_RATE,
        **_CIRCUITS,
    },
    "superpod": {
        "nodes": _NODES,
        "gpus_per_server": st.integers(1, 3),
        "servers_per_unit": st.integers(1, 2),
        "intra_to_inter": st.integers(1, 3),
        "oversubscription": st.integers(1, 2),
        **_NODE_RATE,
        **_EVERY,
        **_SWITCH,
    },
    "torus": {
        "rows": st.integers(1, 3),
        "cols": st.integers(1, 3),
        **_NODE_RATE,
        **_EVERY,
        **_HOPS,
    },
}


@st.composite
def _ramp(draw: st.DrawFn) -> dict[str, Any]:
    groups, racks = draw(st.sampled_from([(1, 1), (2, 1), (2, 2)]))
    timed = {name: draw(values) for name, values in _CIRCUITS.items()}
    return {
        "groups": groups,
        "racks": racks,
        "nodes_per_rack": groups,
        "transceivers_per_group": draw(st.integers(1, 2)),
        "subnet": draw(
            st.sampled_from(
                ["broadcast-and-select", "route-and-broadcast", "route-and-switch"]
            )
        ),
        **timed,
        "slot_ps": timed["reconfiguration_ps"] + 20_000,
    }


@st.composite
def _topoopt(draw: st.DrawFn) -> dict[str, Any]:
    nodes, degree = draw(st.sampled_from([(3, 1), (3, 2), (4, 2), (5, 3), (5, 4)]))
    keys = {**_NODE_RATE, **_EVERY, **_HOPS}
    drawn = {name: draw(values) for name, values in keys.items()}
    return {"nodes": nodes, "degree": degree, **drawn}


_TABLES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    **{kind: st.fixed_dictionaries(keys) for kind, keys in _KEYS.items()},
    "ramp": _ramp(),
    "topoopt": _topoopt(),
}


_PLAIN = ("ideal-switch", "lightpath")
"""What a failing example had better be on."""


def known_kinds() -> tuple[str, ...]:
    """Return the kinds of fabric that there is a strategy for, plain ones first."""
    return tuple(sorted(_TABLES, key=lambda kind: (kind not in _PLAIN, kind)))


def fabrics(kinds: Iterable[str] | None = None) -> st.SearchStrategy[AnyFabric]:
    """Return a strategy for fabrics of one to nine nodes.

    On each of them every node can tell every other one everything, over others if need
    be; rates and delays include zero delays and rates that divide nothing.

    Parameters
    ----------
    kinds
        Kinds as in ``[fabric] kind``; all of `known_kinds` if ``None``. Failing
        examples shrink towards the first.

    Raises
    ------
    InputError
        If there is no such kind, or none is given.
    """
    chosen = known_kinds() if kinds is None else tuple(kinds)
    for kind in chosen:
        if kind not in _TABLES:
            raise InputError(
                "unknown kind of fabric",
                where="kinds",
                found=kind,
                allowed=", ".join(known_kinds()),
                fix=nearest(kind, known_kinds()),
            )
    if not chosen:
        raise InputError("no kind of fabric", where="kinds", allowed="at least one")
    return st.sampled_from(chosen).flatmap(_fabrics_of)


def _fabrics_of(kind: str) -> st.SearchStrategy[AnyFabric]:
    record = FABRICS[kind].record
    return _TABLES[kind].map(lambda table: record(**table))


MOST_RANKS = 5
"""Most ranks of a drawn collective, unless only the whole fabric is connected."""
DEMAND = "demand"
RELAYED_DEMAND = "relayed-demand"
"""A demand that allows relays; drawn where it is named only."""
"""What stands for a demand among the names of collectives."""

_SIZES = st.sampled_from([1, 3, 1000, 4096, 10**6])


@st.composite
def collectives(
    draw: st.DrawFn,
    fabric: AnyFabric,
    ops: Iterable[str] | None = None,
    *,
    chunks_chosen: bool = False,
) -> Collective:
    """Draw a collective that makes sense on `fabric` and that it can serve.

    Its ranks are some nodes in any order, such that everyone can reach everyone over
    ranks alone; one rank is a possibility.

    Parameters
    ----------
    fabric
        The fabric.
    ops
        Names of collectives; all of the catalogue if ``None``.
    chunks_chosen
        Whether the number of chunks is always given; else it may be left open.
    """
    op = COLLECTIVES[draw(st.sampled_from(sorted(COLLECTIVES if ops is None else ops)))]
    node = st.integers(0, fabric.node_count - 1)
    # A single rank has nothing to do: one in sixteen is enough.
    least = 1 if fabric.node_count == 1 or draw(st.integers(0, 15)) == 15 else 2
    nodes = tuple(
        draw(st.lists(node, min_size=least, max_size=MOST_RANKS, unique=True))
    )
    if not connected(fabric, nodes):
        nodes = tuple(draw(st.permutations(range(fabric.node_count))))
    count = draw(st.integers(1, 2 if op.uses_blocks else 4))
    chunks = count * (len(nodes) if op.uses_blocks else 1)
    given = chunks_chosen or draw(st.booleans())
    root = draw(st.sampled_from([None, *nodes])) if op.rooted else None
    size_bytes = chunks * draw(_SIZES)
    return Collective(op.name, nodes, size_bytes, chunks if given else None, root)


@st.composite
def demands(draw: st.DrawFn, fabric: AnyFabric, *, relays: bool = False) -> Demand:
    """Draw a demand of one to six pairs, each one hop apart on `fabric`.

    Parameters
    ----------
    fabric
        One with a pair of nodes.
    relays
        Whether the demand allows relays.
    """
    pairs = st.sampled_from(joined_pairs(fabric))
    chosen = draw(st.lists(pairs, min_size=1, max_size=6, unique=True))
    rows = [(*pair, draw(_SIZES)) for pair in chosen]
    return Demand.from_rows(rows, relays=relays)


def tasks(
    fabric: AnyFabric,
    names: Iterable[str] | None = None,
    *,
    chunks_chosen: bool = False,
) -> st.SearchStrategy[Task]:
    """Return a strategy for tasks that `fabric` can serve.

    Parameters
    ----------
    fabric
        The fabric. One of a single node has no demands.
    names
        Names of collectives, `DEMAND` and `RELAYED_DEMAND`; all but the last if
        ``None``.
    chunks_chosen
        Whether the number of chunks of a collective is always given.

    Raises
    ------
    InputError
        If there is no such task, or none is given.
    """
    known = (*COLLECTIVES, DEMAND, RELAYED_DEMAND)
    chosen = known[:-1] if names is None else tuple(names)
    for name in chosen:
        if name not in known:
            allowed, fix = ", ".join(known), nearest(name, known)
            what = "unknown task"
            raise InputError(what, where="tasks", found=name, allowed=allowed, fix=fix)
    if not chosen:
        raise InputError("no task", where="tasks", allowed="at least one")
    ops = [name for name in chosen if name not in (DEMAND, RELAYED_DEMAND)]
    ways: list[st.SearchStrategy[Task]] = []
    if ops:
        ways.append(collectives(fabric, ops, chunks_chosen=chunks_chosen))
    if joined_pairs(fabric):
        ways += [
            demands(fabric, relays=name == RELAYED_DEMAND)
            for name in (DEMAND, RELAYED_DEMAND)
            if name in chosen
        ]
    return st.one_of(ways)


@st.composite
def instances(
    draw: st.DrawFn,
    kinds: Iterable[str] | None = None,
    names: Iterable[str] | None = None,
    *,
    chunks_chosen: bool = False,
) -> Instance:
    """Draw an instance that has an answer.

    Parameters
    ----------
    kinds
        Kinds of fabric, as in `fabrics`.
    names
        Tasks, as in `tasks`.
    chunks_chosen
        Whether the number of chunks of a collective is always given.
    """
    names = None if names is None else tuple(names)
    drawn = fabrics(kinds)
    if names is not None and {*names} <= {DEMAND, RELAYED_DEMAND}:
        drawn = drawn.filter(_has_pairs)
    fabric = draw(drawn)
    return Instance(
        fabric, draw(tasks(fabric, names, chunks_chosen=chunks_chosen)), "drawn"
    )


def _has_pairs(fabric: AnyFabric) -> bool:
    return bool(joined_pairs(fabric))


def connected(fabric: AnyFabric, nodes: Iterable[int]) -> bool:
    """Return whether data get from each node to each other one over these alone."""
    inside = set(nodes)
    forth: dict[int, set[int]] = {node: set() for node in inside}
    back: dict[int, set[int]] = {node: set() for node in inside}
    for src, dst in joined_pairs(fabric):
        if src in inside and dst in inside:
            forth[src].add(dst)
            back[dst].add(src)
    return all(_reached(ways, min(inside)) == inside for ways in (forth, back))


def _reached(ways: dict[int, set[int]], start: int) -> set[int]:
    seen, waiting = {start}, [start]
    while waiting:
        fresh = ways[waiting.pop()] - seen
        seen |= fresh
        waiting += sorted(fresh)
    return seen
