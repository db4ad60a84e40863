"""The page: data of a schedule inside a document that needs nothing else."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from lightloom.formats.atomic import atomic_write
from lightloom.report.schedule_page.page_data import page_data

if TYPE_CHECKING:
    from pathlib import Path

    from lightloom.core.schedule import Schedule

_FOLDER = resources.files("lightloom.report.schedule_page")
_FRAME_HEIGHT = 900
"""Of a page in a notebook, in pixels."""


@dataclass(frozen=True, repr=False)
class SchedulePage:
    """A page of HTML that asks nothing of a network; notebooks show it in a frame.

    Attributes
    ----------
    title
        Its heading.
    html
        The document.
    """

    title: str
    html: str

    def save(self, path: Path) -> Path:
        """Write the page, and return its path.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        with atomic_write(path) as file:
            file.write(self.html.encode())
        return path

    def __repr__(self) -> str:
        """Return what it is of, and how large."""
        return f"<page of {self.title}: {len(self.html.encode()):,} bytes of HTML>"

    def _repr_html_(self) -> str:
        document = html.escape(self.html, quote=True)
        style = f"width:100%;height:{_FRAME_HEIGHT}px;border:0"
        return f'<iframe srcdoc="{document}" style="{style}"></iframe>'


def schedule_page(schedule: Schedule, title: str) -> SchedulePage:
    """Return the page of a schedule, which may break rules.

    Same schedule, same bytes.

    Parameters
    ----------
    schedule
        What is shown; verified and replayed here.
    title
        Heading of the page, for example the name of the file.
    """
    page = (_FOLDER / "page.html").read_text("utf-8")
    data = json.dumps(page_data(schedule, title), separators=(",", ":"))
    inside = {
        "STYLE": (_FOLDER / "page.css").read_text("utf-8"),
        "SCRIPT": (_FOLDER / "page.js").read_text("utf-8"),
        # A script element ends at the first "</", wherever it stands.
        "DATA": data.replace("<", "\\u003c"),
    }
    for name, text in inside.items():
        page = page.replace(f"/*{name}*/", text, 1)
    return SchedulePage(title, page)
