"""Three figures of one point each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.papers.claims import between, holds, not_reproducible
from lightloom.papers.reproduction import Figure, Plot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.papers.claims import Comparison
    from lightloom.papers.reproduction import Data, Row, Tell


def _compute(tell: Tell, *, most: int = 3) -> Iterator[Row]:
    tell("counting")
    yield from ((x, x**2, "squares") for x in range(1, most))


def _claims(data: Data) -> Iterator[Comparison]:
    for least in (1, 2):
        points = between({"x": data.numbers("x")[0]}, least=least)
        yield holds("first x", f">= {least} & <b>bold</b>", "1", points=points, why="w")
    yield not_reproducible("a photograph", "there", "-", "no camera")


FIGURE = tuple(
    Figure(
        name=f"overlap-fig{number}",
        title=f"squares <{number}>",
        columns=("x", "y", "name"),
        compute=_compute,
        claims=_claims,
        panels=Plot(x="x", y="y", x_label="x", y_label="y", series="name"),
        notes=("a note",),
        takes_s=number,
    )
    for number in (2, 3, 10)
)
