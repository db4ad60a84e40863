"""The code blocks of a page, and what a reader who follows the page would do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from pathlib import Path

LANGUAGES = {"console", "csv", "json", "python", "sh", "text", "toml", "{eval-rst}"}
"""``text`` is what is not code: output, and the help of commands; ``{eval-rst}`` names
docstrings that the site shows."""
NOTES = re.compile(r"<!-- (not run: .+|slow: .+|exit code [1-4]|file: [\w.-]+) -->")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes
    ----------
    page, line
        Where it begins.
    language
        One of `LANGUAGES`.
    text
        What stands in it.
    notes
        Comments directly above it: ``not run: reason``, ``slow: reason``, ``exit code
        N`` of its last command, ``file: name``.
    """

    page: Path
    line: int
    language: str
    text: str
    notes: tuple[str, ...]

    @property
    def where(self) -> str:
        """Page and line, as editors read them."""
        return f"{self.page}:{self.line}"

    @property
    def is_run(self) -> bool:
        """Whether a reader is to do what stands here."""
        return not any(note.startswith("not run: ") for note in self.notes)

    @property
    def is_slow(self) -> bool:
        """Whether it takes so long that the fast tests leave it out."""
        return any(note.startswith("slow: ") for note in self.notes)

    @property
    def exit_code(self) -> int:
        """Exit code of the last command."""
        codes = [int(note[-1]) for note in self.notes if note.startswith("exit code ")]
        return codes[0] if codes else 0

    @property
    def file(self) -> str | None:
        """Name it is kept under: that of a note, or of a first line ``# a.b``."""
        for note in self.notes:
            if note.startswith("file: "):
                return note.removeprefix("file: ")
        first = re.match(r"# ([\w-]+\.\w+)\n", self.text)
        return first[1] if first else None


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page in order.

    Parameters
    ----------
    page
        A Markdown file.

    Raises
    ------
    ValueError
        A block without a language, or an unknown comment above it.
    """
    blocks: list[Block] = []
    above = ""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and token.map:
            line = token.map[0] + 1
            language, _, rest = token.info.partition(" ")
            if language not in LANGUAGES or rest:
                message = (
                    f"{page}:{line}: a block of {token.info!r}, none of {LANGUAGES}"
                )
                raise ValueError(message)
            notes = tuple(NOTES.findall(above))
            if len(notes) != above.count("<!--"):
                message = f"{page}:{line}: unknown comment {above.strip()!r}"
                raise ValueError(message)
            blocks.append(Block(page, line, language, token.content, notes))
        above = token.content if token.type == "html_block" else ""
    return blocks
