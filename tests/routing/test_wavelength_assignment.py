"""Wavelengths of routes that are lit at once: no clash, or a reason why not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.columns import Ragged
from lightloom.core.errors import NoAnswerError
from lightloom.core.schedule import Segment
from lightloom.core.task import Demand
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.problems import PROBLEMS
from lightloom.routing import wavelength_assignment as module
from lightloom.routing.wavelength_assignment import lit_routes
from lightloom.synth.publish import signed
from lightloom.validate import verify
from lightloom.validate.checks import circuits

LINE = Lightpath(rows=1, cols=6, lasers=3, waveguides=1)


def clash_free(fabric: Lightpath, route: list[list[int]]) -> None:
    """Assert that routes are lit, each once, within all resources."""
    lit = lit_routes(fabric, Ragged.from_lists(route), 0)
    segment = Segment(0, 0, lit)
    inspection = circuits.inspect(fabric, segment)
    assert list(inspection.violations) == []
    assert inspection.sound is not None
    assert list(circuits.overused(fabric, segment, inspection.sound)) == []
    assert lit.route is not None
    assert lit.wavelengths is not None
    held = [
        row
        for row, on in zip(lit.route.to_lists(), lit.wavelengths.lengths, strict=True)
        for _ in range(on)
    ]
    assert sorted(held) == sorted(route)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=9))
def test_intervals_of_a_line(ends: list[tuple[int, int]]) -> None:
    """What is lit has no clash; on a line of one waveguide clashes are likely."""
    route = [
        list(range(a, b + 1)) if a < b else list(range(a, b - 1, -1))
        for a, b in ends
        if a != b
    ]
    try:
        clash_free(LINE, route)
    except NoAnswerError as problem:
        assert "at once" in str(problem)  # noqa: PT017


@pytest.mark.parametrize("without", ["nothing", "first fit"])
def test_where_colours_of_ends_clash(
    without: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All ends differ, so one colour would do for them, but they share an edge."""
    if without == "first fit":
        monkeypatch.setattr(module, "_MOST_FITS", 0)
    clash_free(LINE, [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]])


@pytest.mark.parametrize(
    ("route", "words"),
    [
        ([[0, 1]] * 4, "node 0 sends 4 at once"),
        ([[0, 1], [2, 1], [2, 1], [0, 1]], "node 1 receives 4 at once"),
        ([[a, 1, 2, 3] for a in (0,)] * 2 + [[1, 2], [1, 2, 3, 4]], "leave node 1"),
    ],
)
def test_what_cannot_be_lit_says_why(route: list[list[int]], words: str) -> None:
    """The error names what has too many circuits, a node or an edge."""
    with pytest.raises(NoAnswerError, match=words):
        lit_routes(LINE, Ragged.from_lists(route), 0)


def test_a_closed_edge_is_no_way() -> None:
    """Routing counts edges alike; a schedule needs waveguides on them."""
    dark = Lightpath(rows=1, cols=2, lasers=1, waveguides=0)
    with pytest.raises(NoAnswerError, match="0 waveguides"):
        lit_routes(dark, Ragged.from_lists([[0, 1]]), 0)


def test_nothing_to_route() -> None:
    """No routes, no circuits, and a schedule that has nothing to do."""
    assert len(lit_routes(LINE, Ragged.from_lists([]), 0)) == 0
    asked = Instance(LINE, Demand((), (), ()), "empty")
    answer = PROBLEMS["routing"].solve(asked, 0)
    assert answer.schedule is not None
    assert answer.certificates == ()
    assert verify(signed(answer.schedule(), asked)).valid


def test_same_seed_same_wavelengths() -> None:
    """Orders are drawn from the seed alone."""
    rng = np.random.default_rng(4)
    fabric = Lightpath(rows=1, cols=12, lasers=6, waveguides=1)
    starts = rng.permutation(9)[:6].tolist()
    route = Ragged.from_lists([list(range(a, a + 4)) for a in starts])
    one, two = (lit_routes(fabric, route, 7).wavelengths for _ in range(2))
    assert one is not None
    assert two is not None
    assert one.to_lists() == two.to_lists()
