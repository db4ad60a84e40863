"""Few holders: known bounds, what schedules say of them, witnesses that prove less."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from lightloom.core.task import Collective
from lightloom.instances.catalogue import load_instance
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.synth.bounds import find_bound
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time import BOUND_KINDS
from lightloom.validate.certificates.completion_time.holders import Prices
from lightloom.validate.certificates.completion_time.parallel_planes import (
    changing_ps,
)
from lightloom.validate.certificates.witness import rows
from tests.examples.ramp_networks import network

KIND = BOUND_KINDS["holders"]
FABRIC = network((4, 4, 8))
TASK = Collective("reduce", tuple(range(128)), 2**18, None, 5)


def test_known_bounds_of_128_nodes() -> None:
    """In four portions 3.4 times the buffer at four transceivers, in five 2.1 times."""
    for size, portions, times in ((2**16, 4, 3.405), (2**18, 5, 2.095)):
        size_ps = Fraction(size * 8 * 10**12, FABRIC.node_bits_per_s)
        for op, root in (("reduce", 5), ("all-reduce", None)):
            task = Collective(op, tuple(range(128)), size, None, root)
            found = find_bound("holders", FABRIC, task)
            assert found is not None
            data = (found.bound - 1000 - portions * 1_450_000) / size_ps
            assert data == pytest.approx(times, abs=0.001)


def test_known_bounds_of_64_nodes_on_four_switches() -> None:
    """Four steps of 2.35 times the buffer; or switches that change, by `planes`.

    Without prices the switches that change nothing are left to `stream` or less.
    """
    for op in ("broadcast", "reduce"):
        instance = load_instance(f"ocs-64/{op}-4MiB")
        fabric, task = instance.fabric, instance.communication
        assert isinstance(fabric, Ocs)
        assert isinstance(task, Collective)
        found = find_bound("holders", fabric, task)
        assert found is not None
        size_ps = Fraction(2**22 * 8 * 10**12, fabric.node_bits_per_s)
        data = (found.bound - 200_000_000 - 4 * 20_000_000) / size_ps
        assert data == pytest.approx(2.351, abs=0.001)
        assert changing_ps(fabric, task) > found.bound
        none = [0] * len(rows(found.witness, "weights", 0))
        least = KIND.prove(fabric, task, {**found.witness, "weights": none})
        assert least < BOUND_KINDS["planes"].prove(fabric, task, {}) < found.bound
        kept = replace(fabric, dark_while_reconfiguring="changed-circuits")
        with pytest.raises(WitnessError, match="holders is about"):
            KIND.prove(kept, task, found.witness)


@given(
    st.lists(st.integers(0, 30), min_size=10, max_size=10),
    st.lists(st.integers(0, 30), min_size=4, max_size=4),
    st.lists(st.integers(0, 40), min_size=4, max_size=4),
)
def test_no_byte_costs_less(
    weights: list[int], root_weights: list[int], multipliers: list[int]
) -> None:
    """All ways in which five others hear a byte over two ports, in four portions."""
    others, ports = 5, 2
    flat = iter(weights)
    table = [[next(flat) for _ in range(first, 4)] for first in range(4)]
    load = [
        root_weights[s]
        + sum(table[u][s - u] * min(others, 3 ** (s - u)) for u in range(s + 1))
        for s in range(4)
    ]
    costs = []
    for first in range(4):
        price = [
            sum(table[u][s - u] for u in range(min(s, first) + 1)) for s in range(4)
        ]
        for way in product(range(1, 3), *[range(others + 1)] * (3 - first)):
            heard, cost = way[0], way[0] * (price[first] + root_weights[first])
            for s, count in enumerate(way[1:], first + 1):
                # The root sends what the others cannot: it costs no less.
                root = max(0, count - ports * heard)
                cost += count * price[s] + root * root_weights[s]
                heard += count if root <= ports else others
            if heard == others:
                costs.append(cost)
    proven = Prices(table, root_weights, multipliers).data_time(others, ports)
    assert proven * max(load) <= min(costs)


def test_witnesses_of_no_form_are_refused() -> None:
    """What is too short, negative, too large or not ascending; other questions."""
    found = find_bound("holders", FABRIC, TASK)
    assert found is not None
    witness = {key: rows(found.witness, key, 0).tolist() for key in found.witness}
    assert KIND.prove(FABRIC, TASK, witness) == found.bound
    broken = [
        {**witness, "weights": witness["weights"][1:]},
        {**witness, "root_weights": [-1, *witness["root_weights"][1:]]},
        {**witness, "multipliers": [2**41, *witness["multipliers"][1:]]},
        {**witness, "portions": witness["portions"][::-1]},
        {**witness, "portions": []},
        {key: witness[key] for key in ("portions", "weights", "multipliers")},
    ]
    for one in broken:
        with pytest.raises(WitnessError):
            KIND.prove(FABRIC, TASK, one)
    for op, root in (("broadcast", 5), ("all-gather", None)):
        with pytest.raises(WitnessError, match="holders is about"):
            KIND.prove(FABRIC, Collective(op, TASK.nodes, 2**16, None, root), witness)


def test_other_prices_prove_less() -> None:
    """Weights of nothing prove what all must hear; doubled multipliers no more."""
    found = find_bound("holders", FABRIC, TASK)
    assert found is not None
    for key, factor in (("weights", 0), ("multipliers", 0), ("multipliers", 2)):
        column = rows(found.witness, key, 0) * factor
        other = {**found.witness, key: column.tolist()}
        assert KIND.prove(FABRIC, TASK, other) < found.bound
