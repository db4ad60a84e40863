"""What a shell completes: names of instances, algorithms, figures, solvers, problems.

Only names are made, nothing is built: click asks for them at every press of the key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click


def _matching(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def instance_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a name of the catalogue, its fabric first; files are left to the shell.

    Parameters
    ----------
    ctx, param
        As click gives them; they do not matter.
    incomplete
        What has been typed.
    """
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


def algorithm_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a name of an algorithm, ``auto`` included.

    Parameters
    ----------
    ctx, param
        As click gives them; they do not matter.
    incomplete
        What has been typed.
    """
    del ctx, param
    from lightloom.synth.algorithms import ALGORITHMS

    return _matching(["auto", *ALGORITHMS], incomplete)


def figure_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a name of a figure.

    Parameters
    ----------
    ctx, param
        As click gives them; they do not matter.
    incomplete
        What has been typed.
    """
    del ctx, param
    from lightloom.papers import FIGURES

    return _matching(FIGURES, incomplete)


def solver_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a name of a solver, ``lightloom`` included.

    Parameters
    ----------
    ctx, param
        As click gives them; they do not matter.
    incomplete
        What has been typed.
    """
    del ctx, param
    from lightloom.solvers import SOLVERS

    return _matching(["lightloom", *SOLVERS], incomplete)


def problem_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete a name of a problem.

    Parameters
    ----------
    ctx, param
        As click gives them; they do not matter.
    incomplete
        What has been typed.
    """
    del ctx, param
    from lightloom.problems import PROBLEMS

    return _matching(PROBLEMS, incomplete)
