"""Public functions document their parameters, in the form of numpydoc.

The lists in `undocumented` name those that do not yet, one list a room. They may only
become shorter: a function that is documented leaves its list, and none is added.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "lightloom"
LISTS = Path(__file__).parent / "undocumented"

PROTOCOLS = {
    ("whole", "fabric", "rng"): "lightloom.testing.strategies.mutation.Mutation"
}
"""Parameters of functions that are all called alike -> where they are described."""
_CERTIFICATES = "lightloom.validate.certificates."
_WORKLOAD = "lightloom.replay.workload."
CONTRACTS = {
    "lightloom.bench.isolated_job.": "lightloom.",
    "lightloom.core.fabric.": "lightloom.instances.fabrics.",
    "lightloom.plans.plan.": "lightloom.plans.algorithms.",
    "lightloom.solvers.adapter.": "lightloom.solvers.",
    "lightloom.synth.fabrics.realiser.": "lightloom.synth.fabrics.",
    "lightloom.synth.ramp.all_to_all_items.": "lightloom.synth.ramp.all_to_all_items.",
    "lightloom.validate.data.stored_values.": "lightloom.validate.data.stored_values.",
    f"{_WORKLOAD}call_costs.": _WORKLOAD,
    f"{_WORKLOAD}collective_flows.": "lightloom.training.",
    f"{_WORKLOAD}flow_network.": _WORKLOAD,
    f"{_WORKLOAD}network.": _WORKLOAD,
    f"{_WORKLOAD}scheduled_calls.": "lightloom.training.",
    f"{_CERTIFICATES}completion_time.requirements.": f"{_CERTIFICATES}completion_time.",
    f"{_CERTIFICATES}objective.": _CERTIFICATES,
}
"""Where protocols are -> where their methods need not be described again."""
RECORDS = frozenset(
    ["DemandAlgorithm", "FabricPlug", "Formulation", "Method", "Objective", "Problem"]
)
"""Records that describe the parameters of the functions which they hold."""

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


def held() -> Iterator[str]:
    """Yield the names of what records of `RECORDS` are made of, functions among it."""
    for module, tree in modules():
        imported = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _called(node) in RECORDS:
                for value in [*node.args, *(each.value for each in node.keywords)]:
                    first, dot, rest = ast.unparse(value).partition(".")
                    yield imported.get(first, f"{module}.{first}") + dot + rest


def _called(node: ast.Call) -> str:
    """Return what is called, its type arguments left out."""
    return ast.unparse(node.func).partition("[")[0]


ALL = {name: (names, text) for name, names, text in functions()}
HELD = frozenset(held())
LISTED = [
    name
    for path in sorted(LISTS.glob("*.txt"))
    for name in path.read_text(encoding="utf-8").split()
]


def implements(name: str) -> bool:
    """Return whether a protocol or a record describes the parameters of a function."""
    method, parameters = name.rpartition(".")[2], ALL[name][0]
    return name in HELD or any(
        one.startswith(protocols)
        and one.rpartition(".")[2] == method
        and described(text) == parameters
        for protocols, methods in CONTRACTS.items()
        if name.startswith(methods)
        for one, (_, text) in ALL.items()
    )


def missing() -> list[str]:
    """Return the functions of two or more parameters that do not describe them."""
    return [
        name
        for name, (names, text) in ALL.items()
        if len(names) > 1
        and described(text) is None
        and tuple(names) not in PROTOCOLS
        and not implements(name)
    ]


def test_functions_describe_their_parameters() -> None:
    """A function with two or more parameters has a section Parameters."""
    new = sorted(set(missing()) - set(LISTED))
    assert new == [], "document their parameters; lists do not grow"


def test_the_list_only_shrinks() -> None:
    """What is documented, renamed or deleted is taken off the list."""
    done = sorted(set(LISTED) - set(missing()))
    assert done == [], "delete these lines of tests/undocumented"
    assert len(set(LISTED)) == len(LISTED)


@pytest.mark.parametrize("room", sorted({name.split(".")[1] for name in ALL}))
def test_sections_name_the_parameters(room: str) -> None:
    """A section Parameters names those of the signature, each once."""
    wrong = {
        name: (told, names)
        for name, (names, text) in ALL.items()
        if name.split(".")[1] == room
        and (told := described(text)) is not None
        and sorted(told) != sorted(names)
    }
    assert wrong == {}
