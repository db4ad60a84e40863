"""Optical circuit switches: what no circuits can beat, by one saturated line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lightloom.core.errors import InputError
from lightloom.validate.certificates.witness import NotProvenError

if TYPE_CHECKING:
    from fractions import Fraction

    from lightloom.core.task import Demand
    from lightloom.instances.fabrics.ocs import Ocs


@dataclass(frozen=True)
class SaturatedPort:
    """A witness: a node whose circuits are all taken, one way.

    `side`: ``row``: what the node sends; ``column``: what it receives. `ratio`:
    circuits a byte that the slowest pair cannot exceed; 0: not all pairs of the line
    can be served.
    """

    side: Literal["row", "column"]
    node: int
    ratio: Fraction


def check_saturated_port(fabric: Ocs, demand: Demand, witness: SaturatedPort) -> None:
    """Refuse a witness that does not prove its ratio.

    With t the ratio, a pair of b bytes that has more than t b circuits has at least
    floor(t b) + 1. If these add up to more than the switches over all pairs of a row,
    or of a column, some pair of the line has a ratio of t or less, whatever the
    switches hold: a node has one circuit a switch each way. The argument is about one
    configuration of each switch; it holds for bidirectional circuits too.

    Raises `InputError`: no such side or node, or a negative or floating ratio;
    `NotProvenError`: a line with room.

    Integers alone; O(pairs).
    """
    where = "saturated port"
    if witness.side not in ("row", "column"):
        what, allowed = "unknown side", "row, column"
        raise InputError(what, where=where, found=witness.side, allowed=allowed)
    if type(witness.node) is not int or not 0 <= witness.node < fabric.nodes:
        what, allowed = "unknown node", f"0 to {fabric.nodes - 1}"
        raise InputError(what, where=where, found=witness.node, allowed=allowed)
    top, bottom = exact_ratio(witness.ratio, where)
    ends = demand.src if witness.side == "row" else demand.dst
    due = sum(
        top * size // bottom + 1
        for end, size in zip(ends, demand.bytes, strict=True)
        if end == witness.node
    )
    if due <= fabric.switches:
        what = f"more than the ratio takes {due} circuits of the line, which fit"
        allowed = f"more than {fabric.switches}"
        found = str(witness.ratio)
        raise NotProvenError(what, where=where, found=found, allowed=allowed)


def exact_ratio(ratio: Fraction, where: str) -> tuple[int, int]:
    """Return numerator and denominator of a ratio, refused unless it is exact.

    Raises `InputError` if it is no fraction of integers, or negative.
    """
    top = getattr(ratio, "numerator", None)
    bottom = getattr(ratio, "denominator", None)
    if type(top) is not int or type(bottom) is not int or bottom < 1 or top < 0:
        allowed = "a non-negative fraction of integers"
        raise InputError(
            "invalid ratio", where=where, found=str(ratio), allowed=allowed
        )
    return top, bottom
