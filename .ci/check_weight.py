"""Check that package and tests weigh no more than weight.toml allows.

Weighed are files, lines and code lines of `*.py`. A code line is one that is neither
blank nor part of a docstring or of an import statement; comments count, so that words
which move from docstrings into comments are not a loss of weight. `--write` lowers what
is allowed to what there is; to raise a number, edit the file, and say in a record of
docs/decisions what was bought.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

ALLOWED = "weight.toml"
_HEAD = """\
# What package and tests may weigh; `make check` holds them against it.
# `python .ci/check_weight.py --write` lowers it, a decision record alone raises it.
"""


def code_lines(source: str) -> int:
    """Return how many lines are neither blank, docstring nor import."""
    lines = source.splitlines()
    left = {number for number, line in enumerate(lines, start=1) if line.strip()}
    for node in ast.walk(ast.parse(source)):
        words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        words = words and isinstance(node.value.value, str)
        if words or isinstance(node, ast.Import | ast.ImportFrom):
            left -= set(range(node.lineno, node.end_lineno + 1))
    return len(left)


def weight(folder: Path) -> dict[str, int]:
    """Return files, lines and code lines of the Python files below a folder."""
    sources = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
    return {
        "files": len(sources),
        "lines": sum(len(source.splitlines()) for source in sources),
        "code_lines": sum(map(code_lines, sources)),
    }


def lowered(
    allowed: dict[str, dict[str, int]], weighed: dict[str, dict[str, int]]
) -> str:
    """Return the file with what is allowed brought down to what there is."""
    text = _HEAD
    for room, numbers in weighed.items():
        old = allowed.get(room, {})
        least = {key: min(n, old.get(key, n)) for key, n in numbers.items()}
        text += f"\n[{room}]\n" + "".join(f"{key} = {n}\n" for key, n in least.items())
    return text


def main() -> None:
    """Print what weighs too much and exit 1, or lower what is allowed."""
    root = Path(__file__).parent.parent
    path = root / ALLOWED
    allowed = tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}
    weighed = {room: weight(root / room) for room in ("lightloom", "tests")}
    if "--write" in sys.argv[1:]:
        path.write_text(lowered(allowed, weighed), encoding="utf-8")
        return
    faults = 0
    for room, numbers in weighed.items():
        for key, number in numbers.items():
            most = allowed.get(room, {}).get(key, 0)
            if number > most:
                faults += 1
                print(f"{ALLOWED}: {room} has {number} {key}, allowed {most}")
    if faults:
        print("remove as much elsewhere, or say in docs/decisions what is bought")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
