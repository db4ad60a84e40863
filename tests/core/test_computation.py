"""Computation graphs: costs of parts, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.core.computation import ComputationGraph, Operation, Split
from lightloom.core.errors import InputError

SPLIT = Split(
    dimension="sample",
    most_parts=64,
    whole_input=False,
    divides_parameters=False,
    parts=(2, 4, 16),
    forward_ps=(100, 40, 20),
    backward_ps=(200, 80, 41),
    memory_bytes=(9, 7, 6),
)
OP = Operation("a", "dense", 8, 8, 16, (SPLIT,))
GRAPH = ComputationGraph(
    name="net",
    batch_size=64,
    ops=(
        OP,
        msgspec.structs.replace(OP, name="b"),
        msgspec.structs.replace(OP, name="c"),
    ),
    src=(0, 1),
    dst=(1, 2),
    bytes=(16, 16),
    provenance="by hand",
)


def test_costs_between_entries_are_linear_in_the_share() -> None:
    """Thirds lie at a third of the way from quarters to halves."""
    assert SPLIT.forward_time_ps(2) == 100
    # 1/3 = 1/4 + (1/2 - 1/4) / 3, so 40 + (100 - 40) / 3.
    assert SPLIT.forward_time_ps(3) == 60
    # 1/8 = 1/16 + (1/4 - 1/16) / 3, so 20 + 20 / 3, rounded up.
    assert SPLIT.forward_time_ps(8) == 27
    assert SPLIT.backward_time_ps(8) == 54
    assert SPLIT.part_memory_bytes(3) == 8


def test_costs_past_the_last_entry_are_proportional() -> None:
    """A quarter of the last part takes a quarter of its time, rounded up."""
    assert SPLIT.forward_time_ps(64) == 5
    assert SPLIT.backward_time_ps(64) == 11


@given(st.data())
def test_costs_are_rounded_up_from_the_exact_line(data: st.DataObject) -> None:
    """Against rational arithmetic, for tables of any form."""
    parts = sorted(data.draw(st.sets(st.integers(1, 50), min_size=1, max_size=5)))
    times = [data.draw(st.integers(0, 10**6)) for _ in parts]
    split = Split(
        dimension="sample",
        most_parts=60,
        whole_input=False,
        divides_parameters=False,
        parts=tuple(parts),
        forward_ps=tuple(times),
        backward_ps=tuple(times),
        memory_bytes=tuple(times),
    )
    count = data.draw(st.integers(parts[0], 60))
    share = Fraction(1, count)
    above = [row for row, fewer in enumerate(parts) if fewer <= count][-1]
    if above == len(parts) - 1:
        exact = times[-1] * share * parts[-1]
    else:
        high, low = Fraction(1, parts[above]), Fraction(1, parts[above + 1])
        slope = (times[above] - times[above + 1]) / (high - low)
        exact = times[above + 1] + slope * (share - low)
    assert split.forward_time_ps(count) == -(-exact.numerator // exact.denominator)


@pytest.mark.parametrize("parts", [0, 1, 65])
def test_no_cut_outside_the_table(parts: int) -> None:
    """Fewer parts than were measured, and more than there can be, are refused."""
    with pytest.raises(InputError, match="allowed: 2 to 64"):
        SPLIT.forward_time_ps(parts)


BAD_SPLITS: list[tuple[dict[str, Any], str]] = [
    ({"dimension": "samplee"}, "unknown split dimension.*did you mean sample"),
    ({"forward_ps": (1, -2, 3)}, "sample.forward_ps: value not allowed; found -2"),
    ({"backward_ps": (1, 2, 10**16)}, "sample.backward_ps"),
    ({"memory_bytes": (1, 2, -1)}, "sample.memory_bytes"),
    ({"memory_bytes": (1, 2)}, "one entry for each number of parts"),
    ({"parts": (2, 2, 3)}, "parts do not rise"),
    ({"parts": (0, 2, 3)}, "parts do not rise"),
    ({"parts": (2, 4, 65)}, "parts do not rise"),
]


@pytest.mark.parametrize(("keys", "words"), BAD_SPLITS)
def test_bad_splits_are_refused(keys: dict[str, Any], words: str) -> None:
    """Dimensions, times and tables that do not fit are named."""
    with pytest.raises(InputError, match=words):
        msgspec.structs.replace(SPLIT, **keys)


BAD_OPERATIONS: list[tuple[dict[str, Any], str]] = [
    ({"output_bytes": -1}, "a.output_bytes: value not allowed; found -1"),
    ({"splits": ()}, "a.splits"),
    ({"splits": (SPLIT, SPLIT)}, "distinct dimensions"),
]


@pytest.mark.parametrize(("keys", "words"), BAD_OPERATIONS)
def test_bad_operations_are_refused(keys: dict[str, Any], words: str) -> None:
    """Negative sizes and bad splits of a dimension are named."""
    with pytest.raises(InputError, match=words):
        msgspec.structs.replace(OP, **keys)


def test_an_operation_finds_its_splits() -> None:
    """One that it does not have is refused, with those that it has."""
    assert OP.split("sample") is SPLIT
    with pytest.raises(InputError, match="allowed: sample"):
        OP.split("channel")


BAD_GRAPHS: list[tuple[dict[str, Any], str]] = [
    ({"ops": (), "src": (), "dst": (), "bytes": ()}, "there is no operation"),
    ({"ops": (OP, OP)}, "two operations of one name; found 'a'"),
    ({"dst": (1, 3)}, "net, edge 1: unknown operation; found 3; allowed: 0 to 2"),
    ({"src": (-1, 1)}, "net, edge 0: unknown operation; found -1"),
    ({"src": (0, 0), "dst": (1, 1)}, "edge 1: an edge of this pair.*a -> b"),
    ({"src": (0, 0), "dst": (1, 0)}, "in a cycle; found 'a -> a'"),
    (
        {"src": (0, 1, 2), "dst": (1, 2, 0), "bytes": (1, 1, 1)},
        "in a cycle; found '(a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c)'",
    ),
    ({"bytes": (1, -1)}, "net.bytes: value not allowed; found -1"),
    ({"bytes": (1,)}, "differ in length"),
    ({"batch_size": 0}, "invalid batch size"),
    ({"provenance": " "}, "numbers need a source"),
]


@pytest.mark.parametrize(("keys", "words"), BAD_GRAPHS)
def test_bad_graphs_are_refused(keys: dict[str, Any], words: str) -> None:
    """Cycles are printed, edges to nowhere numbered."""
    with pytest.raises(InputError, match=words):
        msgspec.structs.replace(GRAPH, **keys)


def test_a_graph_goes_through_plain_tables_and_back() -> None:
    """Lists for tuples, as a decoder leaves them; a bad split is refused there too."""
    table = msgspec.to_builtins(GRAPH)
    assert msgspec.convert(table, ComputationGraph) == GRAPH
    table["ops"][1]["splits"][0]["dimension"] = "depth"
    with pytest.raises(msgspec.ValidationError, match="unknown split dimension"):
        msgspec.convert(table, ComputationGraph)


def test_parameters_add_up() -> None:
    """Three operations of 8 bytes have 24."""
    assert GRAPH.parameter_bytes == 24
