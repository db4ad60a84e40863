"""The door, `core` and the protocols of plugs document their parameters in full.

Elsewhere a docstring is one good sentence, with shapes and units where they are not
plain; a section Parameters that is there anyway names those of the signature.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "lightloom"
IN_FULL = ("lightloom.core.", "lightloom.front_door.", "lightloom.fabrics.")
"""Modules whose functions of two or more parameters describe them."""
BASES = ("ABC", "Protocol")
"""Classes of other modules whose methods do so too."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield name and source of the modules whose names have no leading underscore."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if not any(part.startswith("_") for part in parts):
            yield ".".join(parts), ast.parse(path.read_text(encoding="utf-8"))


def functions() -> Iterator[tuple[str, list[str], str]]:
    """Yield name, parameters and docstring of the public functions of the package.

    Names are those of module, class and function, joined by dots. Parameters leave out
    ``self`` and ``cls``. Constructors, magic methods, overloads and what stands in
    modules or classes with a leading underscore are not public.
    """
    for module, tree in modules():
        yield from _within(tree.body, module, method=False)


def _within(
    body: list[ast.stmt], prefix: str, *, method: bool
) -> Iterator[tuple[str, list[str], str]]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _within(node.body, f"{prefix}.{node.name}", method=True)
        elif isinstance(node, Function) and _is_public(node):
            names = _parameters(node, method=method)
            yield f"{prefix}.{node.name}", names, ast.get_docstring(node) or ""


def _is_public(node: Function) -> bool:
    """Return whether a function is called by its name: no overload, no command."""
    decorators = [ast.unparse(item) for item in node.decorator_list]
    other = ("click.", "overload", "override")
    return not node.name.startswith("_") and not any(
        name.startswith(other) or ".command" in name for name in decorators
    )


def _parameters(node: Function, *, method: bool) -> list[str]:
    arguments = node.args
    names = [item.arg for item in (*arguments.posonlyargs, *arguments.args)]
    static = any(ast.unparse(item) == "staticmethod" for item in node.decorator_list)
    drawn = any(ast.unparse(item).endswith("composite") for item in node.decorator_list)
    if (method and not static) or drawn:
        names = names[1:]  # self, cls, or what hypothesis passes
    names += [arguments.vararg.arg] if arguments.vararg else []
    names += [item.arg for item in arguments.kwonlyargs]
    names += [arguments.kwarg.arg] if arguments.kwarg else []
    return [name for name in names if not name.startswith("_")]


def described(docstring: str) -> list[str] | None:
    """Return the names in the section Parameters, in order; ``None`` without one."""
    section = re.search(
        r"^Parameters\n-{10}\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)",
        docstring,
        re.DOTALL | re.MULTILINE,
    )
    if section is None:
        return None
    heads = re.findall(r"^(\S[^\n:]*?)(?: :.*)?$", section[1], re.MULTILINE)
    return [name.strip("*\\ ") for head in heads for name in head.split(",")]


ALL = {name: (names, text) for name, names, text in functions()}


def plugs() -> Iterator[str]:
    """Yield the names of the methods of protocols and abstract classes."""
    for module, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and any(
                ast.unparse(base).partition("[")[0] in BASES for base in node.bases
            ):
                prefix = f"{module}.{node.name}."
                yield from (name for name in ALL if name.startswith(prefix))


def test_what_others_call_or_implement_describes_its_parameters() -> None:
    """A function with two or more parameters has a section Parameters there."""
    asked = {name for name in ALL if name.startswith(IN_FULL)} | set(plugs())
    missing = sorted(
        name
        for name in asked
        if len(ALL[name][0]) > 1 and described(ALL[name][1]) is None
    )
    assert missing == []


@pytest.mark.parametrize("room", sorted({name.split(".")[1] for name in ALL}))
def test_sections_name_the_parameters(room: str) -> None:
    """A section Parameters names those of the signature, each once."""
    wrong = {
        name: (described(text), names)
        for name, (names, text) in ALL.items()
        if name.split(".")[1] == room
        and described(text) is not None
        and sorted(described(text) or []) != sorted(names)
    }
    assert wrong == {}


NOT_YET = {
    "plans": 18,
    "plans/algorithms": 31,
    "synth/demand_configurations": 49,
    "synth/ocs": 18,
    "synth/relays": 11,
    "synth/ring": 17,
}
"""Numbers of modules without a word, at most, of folders where some still are."""


def _is_number(value: ast.expr) -> bool:
    """Return whether an expression is made of numbers alone."""
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(_is_number, value.elts))
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def wordless(tree: ast.Module) -> Iterator[str]:
    """Yield the numbers of a module that no string below them says anything about."""
    for node, below in pairwise([*tree.body, ast.Pass()]):
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        said = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if value is not None and _is_number(value) and not said:
            yield ast.unparse(node)


def test_numbers_of_modules_say_why() -> None:
    """A unit, a number of a format, a limit with what larger and smaller ones cost."""
    without: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        folder = path.relative_to(PACKAGE).parent.as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        without[folder] += [f"{path.name}: {text}" for text in wordless(tree)]
    many = {
        folder: numbers
        for folder, numbers in without.items()
        if len(numbers) > NOT_YET.get(folder, 0)
    }
    assert many == {}


def test_a_number_needs_its_own_word() -> None:
    """What stands below two of them is about the second."""
    tree = ast.parse('A = -(2**3)\nB = C = 2, 0.5\n"""Why."""\nD: int = 1\nE = f(1)\n')
    assert list(wordless(tree)) == ["A = -2 ** 3", "D: int = 1"]
