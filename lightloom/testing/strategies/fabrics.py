"""Strategies for fabrics: every kind of the catalogue, small enough to think about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from lightloom.core.errors import InputError, nearest
from lightloom.instances.fabrics import FABRICS

if TYPE_CHECKING:
    from collections.abc import Iterable

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
