"""What a shell completes: names of instances, algorithms, figures, solvers, problems.

Only names are made, nothing is built: click asks for them at every press of the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    import click

    Completer: TypeAlias = Callable[
        [click.Context, click.Parameter, str], list[CompletionItem]
    ]


def _matching(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _completer(names: Callable[[], Iterable[str]]) -> Completer:
    """Return what completes one of some names, which are looked up when asked for."""

    def complete(
        ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, param
        return _matching(names(), incomplete)

    return complete


def instance_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a name of the catalogue, fabric first; files are left to the shell."""
    del ctx, param
    from lightloom.instances.catalogue import instance_names as known

    names = known()
    if "/" not in incomplete:
        fabrics = dict.fromkeys(f"{name.partition('/')[0]}/" for name in names)
        found = _matching(fabrics, incomplete)
        if len(found) != 1:
            return found or [CompletionItem(incomplete, type="file")]
        incomplete = str(found[0].value)
    return _matching(names, incomplete) or [CompletionItem(incomplete, type="file")]


def _algorithms() -> Iterable[str]:
    from lightloom.plans.algorithms import ALGORITHMS

    return ["auto", *ALGORITHMS]


def _figures() -> Iterable[str]:
    from lightloom.papers import FIGURES

    return FIGURES


def _solvers() -> Iterable[str]:
    from lightloom.solvers import SOLVERS

    return ["lightloom", *SOLVERS]


def _problems() -> Iterable[str]:
    from lightloom.problems import PROBLEMS

    return PROBLEMS


algorithm_names = _completer(_algorithms)
"""Complete a name of an algorithm, ``auto`` included."""
figure_names = _completer(_figures)
"""Complete a name of a figure."""
solver_names = _completer(_solvers)
"""Complete a name of a solver, ``lightloom`` included."""
problem_names = _completer(_problems)
"""Complete a name of a problem."""
