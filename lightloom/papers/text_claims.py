"""Numbers in the text of papers that no figure computes, each a record."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from lightloom.papers.claims import not_reproducible

if TYPE_CHECKING:
    from lightloom.papers.claims import Comparison


@dataclass(frozen=True)
class TextClaim:
    """A number that a paper prints outside its figures, or that nobody computes here.

    `where` is a section, figure or equation; `command` prints ours, and is empty where
    the page computes it from what is printed.
    """

    where: str
    comparison: Comparison
    command: str = ""


def text_claims(paper: str) -> tuple[TextClaim, ...]:
    """Return what a paper prints beside its figures, computed anew; takes seconds."""
    module = import_module(f"lightloom.papers.{paper}.text")
    return tuple(module.claims())


def unknown(where: str, claim: str, paper: str, why: str) -> TextClaim:
    """Return a number that cannot be computed here."""
    return TextClaim(where, not_reproducible(claim, paper, "-", why))
