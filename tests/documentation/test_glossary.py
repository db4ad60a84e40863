"""The glossary has the words that files, commands and pages define."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from spellchecker import SpellChecker

if TYPE_CHECKING:
    from collections.abc import Iterator

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


SPOKEN = SpellChecker(distance=1).word_frequency
RARE = 200
"""A count of the word list: "torus" and "waveguide" are rarer, "switch" is not."""
ROWS = re.findall(r"^\| ([A-Za-z][^|]*?) \|", GLOSSARY, re.MULTILINE)
EXPLAINED = {word for row in ROWS for word in re.findall(r"[a-z]+", row.lower())}
LISTED = Path(__file__).with_name("plain_words.txt").read_text(encoding="utf-8")
KNOWN = EXPLAINED | set(re.sub(r"^#.*", "", LISTED, flags=re.MULTILINE).split())
ENDINGS = (("", ""), ("s", ""), ("es", ""), ("es", "is"), ("ies", "y"), ("ices", "ix"))
ENDINGS += (("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"), ("ly", ""), ("er", ""))
ENDINGS += (("r", ""), ("rs", ""), ("ers", ""))


def american_spellings() -> dict[str, str]:
    """Return the spelling of the word list for words that are spelt otherwise here."""
    data = resources.files("codespell_lib") / "data" / "dictionary_en-GB_to_en-US.txt"
    lines = data.read_text(encoding="utf-8").splitlines()
    return dict(line.split("->") for line in lines)


AMERICAN = american_spellings()


def is_known(word: str) -> bool:
    """Whether a word is everyday English, in the glossary, or in a list beside this."""
    stem = re.split("['\u2019]", word.lower())[0]
    for ending, begun in ENDINGS:
        if stem.endswith(ending) and len(stem) > len(ending) + 1:
            form = stem.removesuffix(ending) + begun
            american = AMERICAN.get(form, form)
            if form in KNOWN or american in KNOWN or SPOKEN[american] > RARE:
                return True
    return False


def words_of(page: Path) -> Iterator[str]:
    """Yield the words of a page: prose, names of keys and options, help of commands."""
    for token in MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8")):
        if token.type == "fence" and page.name == "cli.md":
            yield from re.findall(
                r"(?<![\w$/.-])[A-Za-z][a-z]+(?![\w/])", token.content
            )
        for part in token.children or ():
            if part.type == "text":
                prose = re.sub(r"\$[^$]*\$", "", part.content)
                yield from re.findall(
                    r"(?<![\w$\\.])(?:[A-Z]?[a-z]+(?:['\u2019]s)?|[A-Z]{2,}[a-z]*)(?!\w)",
                    prose,
                )
            elif re.fullmatch(r"(--)?[a-z]+([_-][a-z]+)*", part.content):
                yield from re.findall(r"[a-z]+", part.content)


def test_rare_words_have_a_row() -> None:
    """A word of the field, an abbreviation or a made-up name is explained."""
    missing: dict[str, str] = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        if "decisions" not in page.parts:
            rare = {w for w in set(words_of(page)) if len(w) > 1 and not is_known(w)}
            missing |= dict.fromkeys(sorted(rare), page.name)
    assert missing == {}


def test_a_new_word_of_the_field_is_seen(tmp_path: Path) -> None:
    """Prose, a key, an option and an abbreviation; everyday words are not."""
    page = tmp_path / "page.md"
    page.write_text("The etalons' colours, an `etalon_ps`, WDM; see `--etalon`.\n")
    found = [word for word in words_of(page) if not is_known(word)]
    assert found == ["etalons", "etalon", "WDM", "etalon"]
