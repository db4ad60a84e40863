"""The glossary has the words that files, commands and pages define."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
WORDS = re.findall(r"^\| ([a-z][^|]*?) \|", GLOSSARY.partition("## ")[0], re.MULTILINE)
PLAIN = {"bytes", "format", "index", "name", "parameters", "record", "seed", "sha256"}
PLAIN |= {"value", "version", "written_by"}
"""Keys of the schedule file that mean what they say."""
SHORT = {
    "buffer_bytes": "buffer",
    "chunk_hi": "chunk",
    "chunk_lo": "chunk",
    "completion_time_ps": "completion time",
    "dst": "node",
    "multicast": "multicast circuit",
    "op": "collective",
    "src": "node",
}
EMPHASIS = {"and", "auto", "faster", "form", "ideal", "instants", "is", "meaning"}
EMPHASIS |= {"modelled by", "one", "one shot", "proven", "proven optimal", "reduce"}
EMPHASIS |= {"shifts", "slower", "usual", "with a checked witness"}
"""What pages stress without defining it."""


def keys(schema: object) -> set[str]:
    """Return the names of all properties in a JSON Schema."""
    if isinstance(schema, dict):
        inner = set().union(*map(keys, schema.values()))
        return inner | set(schema.get("properties", {}))
    return set().union(*map(keys, schema)) if isinstance(schema, list) else set()


def test_words_stand_in_order_each_once() -> None:
    """A reader finds a word where the alphabet has it."""
    assert WORDS[1:] == sorted(set(WORDS[1:]))


def test_keys_of_schedule_files_are_words() -> None:
    """What a file is made of is explained, in the singular."""
    path = ROOT / "lightloom" / "formats" / "schedule.schema.json"
    found = keys(json.loads(path.read_text(encoding="utf-8"))) - PLAIN
    names = {SHORT.get(key, key) for key in found}
    assert {
        name for name in names if not {name, name.rstrip("s")} & set(WORDS)
    } == set()


def test_words_that_pages_define_are_there() -> None:
    """What a page sets in italics, other than for emphasis, has a row."""
    missing = {}
    for page in (ROOT / "docs").rglob("*.md"):
        if "decisions" in page.parts:
            continue
        text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
        terms = set(re.findall(r"(?<![*\w])\*([a-z][a-z -]+)\*(?!\*)", text)) - EMPHASIS
        unknown = {term for term in terms if not {term, term.rstrip("s")} & set(WORDS)}
        if unknown:
            missing[page.name] = unknown
    assert missing == {}
