"""What rounds on LIGHTPATH take at least, before anything of them is made."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import ceil
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.plans.plan import RoundOutline
from lightloom.synth.lightpath.realisation import outlined_ps

if TYPE_CHECKING:
    from collections.abc import Sequence


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), min_size=1, max_size=4),
    st.sampled_from([1, 2, 4, 8]),
    st.booleans(),
)
def test_rounds_alike_are_predicted_as_one_by_one(
    runs: list[tuple[int, int]],
    lasers: int,
    charged: bool,  # noqa: FBT001
) -> None:
    """The best of all cuts into configurations, with every round by itself."""
    kinds = [RoundOutline(s, Fraction(1, 2 * s), s % 2) for s in (1, 2, 5)]
    rounds = [kinds[kind] for kind, count in runs for _ in range(count)]
    fabric = Lightpath(
        rows=2, cols=2, lasers=lasers, initial_configuration_charged=charged
    )

    def configuration_ps(part: Sequence[RoundOutline]) -> int | None:
        streams: dict[int, int] = {}
        for outline in part:
            used = outline.streams
            streams[outline.circuits] = max(streams.get(outline.circuits, 0), used)
        lit = sum(streams.values())
        if lit > lasers and len(part) > 1:
            return None
        total_ps = fabric.reconfiguration_ps
        for outline in part:
            lasers_each = Fraction((lasers - lit + outline.streams) // outline.streams)
            if lit > lasers:
                lasers_each = Fraction(lasers, outline.streams)
            rate = fabric.bits_per_second_per_wavelength * lasers_each
            total_ps += fabric.alpha_ps
            total_ps += ceil(8 * 2**20 * 10**12 * outline.share / rate)
        return total_ps

    sums = []
    for cuts in product((False, True), repeat=len(rounds) - 1):
        parts, part = [], rounds[:1]
        for cut, outline in zip(cuts, rounds[1:], strict=True):
            if cut:
                parts.append(part)
                part = []
            part = [*part, outline]
        times = [configuration_ps(part) for part in (*parts, part)]
        if None not in times:
            sums.append(sum(time_ps for time_ps in times if time_ps is not None))
    least_ps = min(sums) - (0 if charged else fabric.reconfiguration_ps)
    assert outlined_ps(fabric, rounds, 2**20) == least_ps
