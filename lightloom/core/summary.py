"""Results that print well: a line in a terminal, a table in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Summarised:
    """What a result is in a few words, wherever it is shown.

    A subclass says what its facts are. A dataclass has to be made with
    ``repr=False``, or it prints all its fields.
    """

    __slots__ = ()

    def facts(self) -> Mapping[str, object]:
        """Return what there is to say, by name; ``None`` is left out."""
        raise NotImplementedError

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value}" for name, value in self._told())
        return f"{type(self).__name__}({told})"

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
            for name, value in self._told()
        )
        caption = html.escape(type(self).__name__)
        return f"<table><caption>{caption}</caption>{rows}</table>"

    def _told(self) -> list[tuple[str, object]]:
        return [(name, fact) for name, fact in self.facts().items() if fact is not None]
