"""Places in JSON files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from lightloom.formats.json_file import JsonFile, read_json

if TYPE_CHECKING:
    from pathlib import Path

NAMES = st.text("abc", min_size=1, max_size=3)
VALUES = st.recursive(
    st.sampled_from([0, 1.5, None, "x", 'a "quoted", [odd]: {text}']),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4)
    ),
    max_leaves=12,
)


def numbered(value: Any, path: str, leaves: dict[str, str]) -> Any:  # noqa: ANN401
    """Return a value whose leaves are all different, and gather their paths."""
    if isinstance(value, dict):
        return {
            key: numbered(item, f"{path}.{key}".lstrip("."), leaves)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [
            numbered(item, f"{path}[{row}]", leaves) for row, item in enumerate(value)
        ]
    leaves[path] = f"{value} {len(leaves)}"
    return leaves[path]


@given(VALUES, st.sampled_from([None, 1, 4]))
def test_every_leaf_is_found_on_its_line(value: object, indent: int | None) -> None:
    """The line of a value is found whatever stands around it."""
    leaves: dict[str, str] = {}
    table = numbered({"top": value}, "", leaves)
    text = json.dumps(table, indent=indent)
    file = JsonFile("f.json", text, table)
    for path, leaf in leaves.items():
        name, line, field = file.place(path).split(":", 2)
        assert (name, field) == ("f.json", f" {path}")
        assert json.dumps(leaf) in text.splitlines()[int(line) - 1]


def test_a_path_that_ends_early_is_placed_where_it_ends(tmp_path: Path) -> None:
    """A key that is missing has the line of what should have had it."""
    path = tmp_path / "f.json"
    path.write_text('{\n "a": [\n  {"b": 1}\n ]\n}\n')
    file = read_json(path)
    assert file.place("a[0].c") == f"{path}:3: a[0].c"
    assert file.place("a[1].b") == f"{path}:2: a[1].b"
    assert file.place("z") == f"{path}:1: z"
