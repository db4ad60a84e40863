"""Every code block of the documentation does what the page says."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt

import lightloom
from tests.documentation.blocks import Block, blocks_of
from tests.documentation.reader import ROOT, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGES = {
    path.relative_to(ROOT).as_posix(): blocks_of(path)
    for path in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
}


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """Return somebody who follows a page in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    modules = set(sys.modules)
    yield Reader(tmp_path)
    for name in set(sys.modules) - modules:
        if (tmp_path / f"{name}.py").exists():
            del sys.modules[name]


def follow(reader: Reader, blocks: list[Block]) -> None:
    """Follow a page, block by block."""
    for block in blocks:
        if block.is_run:
            reader.follow(block)


@pytest.mark.parametrize(
    "name", [name for name in PAGES if PAGES[name] and name != "README.md"]
)
def test_page(reader: Reader, name: str) -> None:
    """What a page says, in order, in an empty folder."""
    follow(reader, [block for block in PAGES[name] if not block.is_slow])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in PAGES if any(block.is_slow for block in PAGES[name])]
)
def test_page_with_what_takes_long(reader: Reader, name: str) -> None:
    """The same with every block that is run at all."""
    follow(reader, PAGES[name])


def test_script_in_the_readme(reader: Reader) -> None:
    """The script that the README shows runs as it stands, and leaves its files."""
    follow(reader, PAGES["README.md"])
    printed = reader.printed.getvalue().splitlines()
    assert printed[1] == "True"
    completion_ps, bound_ps = map(int, printed[2].split())
    assert 0 < bound_ps <= completion_ps
    assert (reader.folder / "mine.png").read_bytes().startswith(b"\x89PNG")
    assert (reader.folder / "mine.jsonl").exists()


def test_notes_of_blocks_are_few(reader: Reader) -> None:
    """Most blocks are run, and a page whose files are missing would fail."""
    blocks = [block for page in PAGES.values() for block in page]
    left_out = [block.where for block in blocks if not block.is_run]
    assert len(left_out) <= 10, left_out
    slow = [block.where for block in blocks if block.is_slow]
    assert len(slow) <= 5, slow
    command = Block(Path("page.md"), 1, "sh", "lightloom verify missing.jsonl\n", ())
    with pytest.raises(AssertionError, match=r"page.md:1"):
        reader.follow(command)
    wrong = "$ lightloom --version\nlightloom, version 0\n"
    with pytest.raises(AssertionError, match=r"not\nlightloom, version 0"):
        reader.follow(replace(command, language="console", text=wrong))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_one_title(name: str) -> None:
    """And nothing stands above it."""
    tokens = MarkdownIt().parse((ROOT / name).read_text(encoding="utf-8"))
    levels = [token.tag for token in tokens if token.type == "heading_open"]
    assert levels.count("h1") == 1
    assert levels[0] == "h1"


def test_the_interface_is_documented() -> None:
    """The page of the Python interface has every name that pages tell to import."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\.\. auto\w+:: lightloom\.(\S+)$", page, re.MULTILINE))
    names = {name.rpartition(".")[2] for name in shown}
    modules = {"fabrics"}  # documented record by record
    assert set(lightloom.__all__) - modules <= names
    assert {f"fabrics.{name}" for name in dir(lightloom.fabrics)} <= shown
