"""Bytes of demands over a relay: what is valid, what is not, and what bounds say."""

import io
from typing import TYPE_CHECKING

import msgspec
import pytest

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.core.errors import FormatError
from lightloom.core.schedule import FluidTransfers
from lightloom.formats.schedule_reader import read_schedule_stream
from lightloom.formats.schedule_writer import schedule_lines
from lightloom.replay import replay
from lightloom.synth.bounds import all_bounds
from lightloom.validate import verify
from tests.examples.relays import ASKED, BROKEN, FIRST, STRAIGHT, SWITCH, over_relay
from tests.examples.small_schedules import with_bound

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import Schedule


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
    ("rule", "broken"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_broken_relays_are_found(rule: str, broken: "Callable[[], Schedule]") -> None:
    """Each mutant breaks the rule it is made for."""
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
    assert {"line", "switch-uses"} <= straight.keys()
    made = over_relay()
    for kind in ("line", "switch-uses"):
        assert kind not in all_bounds(SWITCH, ASKED)
        told = straight[kind]
        claim = Certificate(
            COMPLETION_TIME, kind, 1, replay(made).completion_time_ps, told.witness
        )
        assert [*verify(with_bound(made, claim)).counts] == ["certificate-witness"]
    # Straight through, node 0 needs two configurations: what relays beat.
    assert straight["line"].bound > replay(made).completion_time_ps


def test_bounds_of_relayed_demands_hold() -> None:
    """No bound is above a schedule that relays."""
    time_ps = replay(over_relay()).completion_time_ps
    for bound in all_bounds(SWITCH, ASKED).values():
        assert 0 < bound.bound <= time_ps
