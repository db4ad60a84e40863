"""Claims of papers: a value of theirs beside ours, and how it fares."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import pairwise
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NEAR = 0.02
"""Relative difference up to which values match; the papers round as coarsely."""
CLAIM_COLUMNS = (
    *("claim", "paper", "ours", "best", "bound"),
    *("band", "verdict", "why"),
)
"""What `Comparison.row` holds."""
_MOST_BANDS = 60
"""Characters of different bands beyond which they are not all told."""


class ClaimVerdict(StrEnum):
    """How a claim of the paper fares."""

    MATCHES = "matches"
    DIFFERS = "differs"
    NOT_REPRODUCIBLE = "not reproducible"


@dataclass(frozen=True)
class Point:
    """A number of ours, and the band that the claim leaves for it.

    `label` says which of the numbers of a claim it is. The ends `least` and `most`
    belong to the band, which is open where one is ``None``.
    """

    label: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def inside(self) -> bool:
        """Whether the number is in its band."""
        enough = self.least is None or self.value >= self.least
        return enough and (self.most is None or self.value <= self.most)

    @property
    def band(self) -> str:
        """The band in words."""
        if self.least is None or self.most is None:
            limits = ((">= ", self.least), ("<= ", self.most))
            texts = (f"{sign}{_text(at, 6)}" for sign, at in limits if at is not None)
            return " ".join(texts) or "any"
        if self.least == self.most:
            return _text(self.least, 6)
        return f"{_text(self.least, 6)} to {_text(self.most, 6)}"


@dataclass(frozen=True)
class Comparison:
    """A claim of the paper, which says where, beside what was computed.

    The values are in words, the numbers behind them are `points`: none where the claim
    cannot be judged. `why` says why they differ, or what input is missing. `best` is
    `ours` where all that is compared has the best algorithm known to lightloom, named,
    if that is another; `bound` what no schedule can beat, with the kind of its proof.
    """

    claim: str
    paper: str
    ours: str
    points: tuple[Point, ...]
    why: str = ""
    best: str = ""
    bound: str = ""

    @property
    def verdict(self) -> ClaimVerdict:
        """How they compare: a match if every point is in its band."""
        if not self.points:
            return ClaimVerdict.NOT_REPRODUCIBLE
        every = all(point.inside for point in self.points)
        return ClaimVerdict.MATCHES if every else ClaimVerdict.DIFFERS

    @property
    def band(self) -> str:
        """The bands of the points in words, and how many points are in theirs."""
        if not self.points:
            return "none"
        bands = " or ".join(dict.fromkeys(point.band for point in self.points))
        if len(bands) > _MOST_BANDS:
            bands = "each its own"
        inside = sum(point.inside for point in self.points)
        return f"{bands}: {inside} of {len(self.points)}"

    def row(self) -> tuple[str, ...]:
        """Return it as a row of a table under `CLAIM_COLUMNS`."""
        return (
            *(self.claim, self.paper, self.ours, self.best, self.bound),
            *(self.band, str(self.verdict), self.why),
        )


def near(
    claim: str,
    paper: float,
    ours: float,
    unit: str,
    *,
    why: str = "",
    band: float = NEAR,
    best: str = "",
    bound: str = "",
) -> Comparison:
    """Return a comparison that matches if ours is off by `band` of the paper's or less.

    Where it is not, `why` is said, by default by how many per cent it is off.
    """
    ends = sorted((paper * (1 - band), paper * (1 + band)))
    point = Point("", ours, *ends)
    off = f"{100 * (ours - paper) / paper:+.1f} %"
    return Comparison(
        claim,
        f"{_text(paper, 6)} {unit}",
        f"{_text(ours, 4)} {unit}",
        (point,),
        off if point.inside or not why else why,
        *(best, bound),
    )


def holds(
    claim: str,
    paper: str,
    ours: str,
    *,
    points: Iterable[Point],
    why: str,
    best: str = "",
    bound: str = "",
) -> Comparison:
    """Return a comparison of a claim in words; `why` is said where it does not hold."""
    judged = tuple(points)
    if not judged:
        message = f"no points to judge by: {claim}"
        raise ValueError(message)
    every = all(point.inside for point in judged)
    return Comparison(claim, paper, ours, judged, "" if every else why, best, bound)


def between(
    values: Mapping[Any, float],
    *,
    least: float | None = None,
    most: float | None = None,
) -> tuple[Point, ...]:
    """Return points with one band for all."""
    return tuple(
        Point(_label(name), value, least, most) for name, value in values.items()
    )


def above(values: Mapping[Any, float], limit: float) -> tuple[Point, ...]:
    """Return points that are to exceed a limit, which is not in their band."""
    return between(values, least=nextafter(limit, inf))


def below(values: Mapping[Any, float], limit: float) -> tuple[Point, ...]:
    """Return points that are to stay below a limit, which is not in their band."""
    return between(values, most=nextafter(limit, -inf))


def rising(values: Mapping[Any, float]) -> tuple[Point, ...]:
    """Return points that do not fall from each to the next, and rise over all."""
    if len(values) < 2:
        return fact("there are several", so=False)
    steps = {
        f"{_label(before)} to {_label(after)}": values[after] / values[before]
        for before, after in pairwise(values)
    }
    first, *_, last = values
    whole = {f"{_label(first)} to {_label(last)} in all": values[last] / values[first]}
    return between(steps, least=1.0) + above(whole, 1.0)


def falling(values: Mapping[Any, float]) -> tuple[Point, ...]:
    """Return points that do not rise from each to the next, and fall over all."""
    return rising(dict(reversed([*values.items()])))


def fact(label: str, *, so: bool) -> tuple[Point, ...]:
    """Return the point of a statement that is so (1) or not (0)."""
    return (Point(label, float(so), 1.0, 1.0),)


def not_reproducible(claim: str, paper: str, ours: str, why: str) -> Comparison:
    """Return a claim that cannot be judged."""
    return Comparison(claim, paper, ours, (), why)


def percent_less(time: float, reference: float) -> float:
    """Return by how many per cent a time is below a reference."""
    return 100 * (reference - time) / reference


def _label(name: object) -> str:
    """Return what a number is called, several words joined."""
    return " ".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _text(value: float, digits: int) -> str:
    """Return a value for people: whole, not in powers of ten, up to ten millions."""
    if 10**4 <= abs(value) < 10**7:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


@dataclass(frozen=True)
class TextClaim:
    """A number that a paper prints outside its figures, or that nobody computes here.

    `where` is a section, figure or equation; `command` prints ours, and is empty where
    the page computes it from what is printed.
    """

    where: str
    comparison: Comparison
    command: str = ""


@cache
def declared(package: str) -> dict[str, Any]:
    """Return what the ``figures.toml`` of a folder declares: see `figures`."""
    text = files(package).joinpath("figures.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def text_claims(paper: str) -> tuple[TextClaim, ...]:
    """Return what a paper prints beside its figures, computed anew; takes seconds.

    Those that cannot be computed come last: they are declared, with the reason.
    """
    module = import_module(f"lightloom.papers.{paper}.text")
    unknown = (
        {key: " ".join(text.split()) for key, text in entry.items()}
        for entry in declared(f"lightloom.papers.{paper}")["unknown"]
    )
    return (
        *module.claims(),
        *(
            TextClaim(
                entry["where"],
                not_reproducible(entry["claim"], entry["paper"], "-", entry["why"]),
            )
            for entry in unknown
        ),
    )
