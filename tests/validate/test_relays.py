"""Bytes of demands over a relay: what is valid, what is not, and what bounds say."""

import io
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.core.errors import FormatError
from lightloom.core.schedule import FluidTransfers
from lightloom.core.task import Demand
from lightloom.formats.schedule_reader import read_schedule_stream
from lightloom.formats.schedule_writer import schedule_lines
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.replay import replay
from lightloom.synth.bounds import all_bounds
from lightloom.testing.strategies import schedules
from lightloom.validate import verify
from lightloom.validate.certificates import WitnessError
from lightloom.validate.certificates.completion_time import BOUND_KINDS
from tests.examples.relays import (
    ASKED,
    BROKEN,
    FIRST,
    MUTANTS,
    STRAIGHT,
    SWITCH,
    over_relay,
)
from tests.examples.small_schedules import with_bound
from tests.oracle.circuit_agreement import agree_on_circuits

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule, SealedSchedule


def test_a_relay_sends_what_it_has_received() -> None:
    """By hand: 1 us to configure, 1 ns alpha and 1.5 us; 1 ns and 0.5 us."""
    made = over_relay()
    assert verify(made).valid
    assert replay(made).completion_time_ps == 1_000_000 + 1_501_000 + 501_000


def test_relays_are_allowed_and_not_required() -> None:
    """Without origins each transfer goes straight, and one direct circuit serves."""
    asked = msgspec.structs.replace(ASKED, src=(0, 1), dst=(1, 2), bytes=(1000, 700))
    straight = over_relay([FIRST[0], FIRST[2]], asked=asked)
    assert verify(straight).valid


@pytest.mark.parametrize(
    ("rule", "broken"),
    [row[1:] for row in BROKEN[len(MUTANTS) :]],
    ids=[row[0] for row in BROKEN[len(MUTANTS) :]],
)
def test_broken_relays_are_found(rule: str, broken: "Callable[[], Schedule]") -> None:
    """What breaks several rules at once breaks the one it is made for."""
    assert rule in verify(broken()).counts


def test_files_keep_the_ends_of_pairs() -> None:
    """What is written is read again; files of version 1 do not know relays."""
    made = over_relay()
    lines = list(schedule_lines(made))
    assert b'"relays":true' in lines[0]
    read = read_schedule_stream(io.BytesIO(b"".join(lines)), "file")
    assert read.task == ASKED
    assert list(schedule_lines(read)) == lines
    moved = read.parts[1].transfers
    assert isinstance(moved, FluidTransfers)
    assert moved.origin is not None
    assert moved.origin.tolist() == [0]
    old = b"".join(lines).replace(b'"version":2', b'"version":1')
    with pytest.raises(FormatError, match="version 1"):
        read_schedule_stream(io.BytesIO(old), "file")


def test_files_without_relays_are_as_they_were() -> None:
    """A demand that does not allow relays says nothing of them."""
    made = over_relay([FIRST[0], FIRST[2]], asked=STRAIGHT)
    assert b"relays" not in b"".join(schedule_lines(made))


def test_bounds_that_rest_on_one_circuit_a_byte_are_refused() -> None:
    """What is proven of straight demands is no bound where bytes are relayed."""
    straight = all_bounds(SWITCH, STRAIGHT)
    assert "switch-uses" not in all_bounds(SWITCH, ASKED)
    made, told = over_relay(), straight["switch-uses"]
    for kind in ("line", "switch-uses"):
        claim = Certificate(
            COMPLETION_TIME, kind, 1, replay(made).completion_time_ps, told.witness
        )
        assert [*verify(with_bound(made, claim)).counts] == ["certificate-witness"]
    # Straight through, node 0 needs two configurations: what relays beat.
    assert told.bound > replay(made).completion_time_ps


def test_bounds_of_relayed_demands_hold() -> None:
    """No bound is above a schedule that relays.

    By hand: 1 us and two alphas, and 1.5 us in which node 0 sends its bytes.
    """
    time_ps = replay(over_relay()).completion_time_ps
    bounds = all_bounds(SWITCH, ASKED)
    assert bounds["relays"].bound == 1_000_000 + 2 * 1_000 + 1_500_000
    for bound in bounds.values():
        assert 0 < bound.bound <= time_ps


def test_what_goes_over_a_relay_counts_twice() -> None:
    """16 nodes of four circuits, 4 KiB each: 4 blocks straight and 11 twice.

    That is 26 blocks over 4 ports, of 163,840 ps each.
    """
    rows = [(a, b, 4096) for a in range(16) for b in range(16) if a != b]
    fabric = Ocs(
        nodes=16,
        switches=4,
        bits_per_second_per_node=800_000_000_000,
        alpha_ps=20_000_000,
        reconfiguration_ps=200_000_000,
    )
    bound = all_bounds(fabric, Demand.from_rows(rows, relays=True))["relays"]
    assert bound.bound == 240_000_000 + 26 * 163_840 // 4


def test_the_bound_on_one_plane() -> None:
    """16 tiles with 4 lasers, equal bytes from all to all: a circuit's 26 blocks.

    One segment: two portions, and 4 blocks of a node straight, 11 in two circuits.
    """
    rows = [(a, b, 9600) for a in range(16) for b in range(16) if a != b]
    asked = Demand.from_rows(rows, relays=True)
    table = {"kind": "lightpath", "rows": 4, "cols": 4, "lasers": 4}
    bound = all_bounds(load_fabric(table), asked)["relays"]
    assert bound.bound == 3_700_000 + 2 * 700_000 + 26 * 512_000 // 4
    # On SiPAC of two levels 9 of 15 blocks take two circuits, however many lasers.
    sipac = load_fabric({"kind": "sipac", "radix": 4})
    shares = 24 * 9600 * 8 * 10**12
    wanted = 2 * 700_000 + -(-shares // sipac.node_bits_per_s)
    assert all_bounds(sipac, asked)["relays"].bound == wanted
    with pytest.raises(WitnessError):
        BOUND_KINDS["relays"].prove(load_fabric(PACKETS), asked, {})


PACKETS: dict[str, object] = {"kind": "ideal-switch", "nodes": 16}


@settings(max_examples=10, deadline=None)
@given(schedules(["ocs", "ring", "lightpath"], ["relayed-demand"]))
def test_random_relays_are_valid(made: "SealedSchedule") -> None:
    """What relays hand on at random is valid, and replay agrees with a simulation."""
    assert verify(made).valid
    agree_on_circuits(made)
