"""Commands: a function, whose parameters say what arguments and options there are."""

from __future__ import annotations

import ast
import inspect
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from lightloom.core.errors import InputError
from lightloom.core.seed import MOST_SEED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import TypeAlias

    from click import Context, Parameter

    from lightloom.core.schedule import ParameterValue
    from lightloom.instances.instance import Instance

    Completer: TypeAlias = Callable[[Context, Parameter, str], list[CompletionItem]]


class _Declared(NamedTuple):
    """Click's parameters that give a function one of its own.

    `make` takes the function's parameter, and returns them in the order of the help.
    """

    make: Callable[[inspect.Parameter], list[Parameter]]


def command(function: Callable[..., int | None]) -> click.Command:
    """Return the command of a function ``NAME_command`` that returns an exit code.

    Every parameter of the function has a default made by `argument`, `option` or one of
    the constants here. The docstring is the help, its first line the summary.
    """
    return command_with(inspect.cleandoc(function.__doc__ or ""))(function)


def command_with(text: str) -> Callable[[Callable[..., int | None]], click.Command]:
    """Return what makes a command of a function, as `command` does, with another help.

    `text`: its help; the summary is the first line of the docstring all the same.
    """

    def make(function: Callable[..., int | None]) -> click.Command:
        summary = inspect.cleandoc(function.__doc__ or "").partition("\n")[0]
        return click.Command(
            function.__name__.removesuffix("_command"),
            callback=function,
            params=parameters_of(function),
            help=text,
            short_help=summary,
        )

    return make


def parameters_of(function: Callable[..., object]) -> list[Parameter]:
    """Return click's parameters that the defaults of a function declare."""
    return [
        declared
        for parameter in inspect.signature(function).parameters.values()
        for declared in parameter.default.make(parameter)
    ]


def argument(metavar: str | None = None, **attributes: Any) -> Any:  # noqa: ANN401
    """Return the default of a parameter that stands on the command line by itself.

    One that may be ``None`` may be left out, and one that is a tuple takes several.
    """

    def make(parameter: inspect.Parameter) -> list[Parameter]:
        kind = str(parameter.annotation)
        attributes.setdefault("required", "None" not in kind and "..." not in kind)
        if "..." in kind:
            attributes["nargs"] = -1
        return [click.Argument([parameter.name], metavar=metavar, **attributes)]

    return _Declared(make)


def option(text: str, *flags: str, **attributes: Any) -> Any:  # noqa: ANN401
    """Return the default of a parameter that an option gives.

    A parameter that is a boolean is a flag, a tuple is repeatable, a ``Literal`` has
    the values to choose from, a default is shown, and what has none and may not be
    ``None`` must be given. `text`: the help. `flags`: what is typed, by default the
    name of the parameter. `attributes`: of `click.Option`.
    """

    def make(parameter: inspect.Parameter) -> list[Parameter]:
        kind = str(parameter.annotation)
        names = flags or (f"--{parameter.name.replace('_', '-')}",)
        numbers = {"int": int, "float": float}
        if choices := re.search(r"Literal(\[.*?\])", kind, re.DOTALL):
            attributes["type"] = click.Choice(ast.literal_eval(choices[1]))
        elif kind.partition(" ")[0] in numbers:
            attributes.setdefault("type", numbers[kind.partition(" ")[0]])
        optional = "None" in kind or kind == "bool" or "..." in kind
        return [
            click.Option(
                [*names, parameter.name],
                help=text,
                # Told that it is no flag, click takes a value "-1" for an option.
                is_flag=True if kind == "bool" else None,
                multiple=kind == "tuple[str, ...]",
                required=not optional and "default" not in attributes,
                **{"show_default": "default" in attributes, **attributes},
            )
        ]

    return _Declared(make)


def output_option(text: str, metavar: str = "FILE") -> Any:  # noqa: ANN401
    """Return the option ``-o`` or ``--output``."""
    return option(text, "-o", "--output", metavar=metavar)


def seed_option(what: str) -> Any:  # noqa: ANN401
    """Return the option ``--seed``, 0 by default."""
    return option(what, type=click.IntRange(0, MOST_SEED), default=0)


class Seconds(click.FloatRange):
    """Seconds for a limit, up to three years; "not a number" is none."""

    def __init__(self, *, zero: bool) -> None:
        super().__init__(0, 10**8, min_open=not zero)

    def convert(
        self,
        value: Any,  # noqa: ANN401  (click's own signature)
        param: Parameter | None,
        ctx: Context | None,
    ) -> float:
        """Return the number of seconds.

        Raises `click.BadParameter` if it is no number, or out of range.
        """
        seconds: float = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value!r} is not a valid number", param, ctx)
        return seconds


# What a shell completes. Only names are made, nothing is built: click asks for them at
# every press of the key.


def _matching(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _completer(names: Callable[[], Iterable[str]]) -> Completer:
    """Return what completes one of some names, which are looked up when asked for."""

    def complete(
        ctx: Context, param: Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, param
        return _matching(names(), incomplete)

    return complete


def instance_names(
    ctx: Context, param: Parameter, incomplete: str
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


JSON = option("Print one JSON object.", "--json")
JSON_INSTEAD = option("Print one JSON object instead of text.", "--json")
"""The same of commands that else print a few lines of text."""
FILE = argument("FILE")

_CHANGES = "lightloom.changes"
_SIZE = "lightloom.size"


def _kept(place: str) -> Callable[[Context, Parameter, object], object]:
    """Return what keeps the value of an option for `asked_instance`."""

    def keep(ctx: Context, param: Parameter, value: object) -> object:
        del param
        ctx.meta[place] = value
        return value

    return keep


def _instance_parameters(parameter: inspect.Parameter) -> list[Parameter]:
    """Return INSTANCE, and the options that change what it names."""
    return [
        click.Argument([parameter.name], shell_complete=instance_names),
        click.Option(
            ["--set"],
            metavar="TABLE.KEY=VALUE",
            multiple=True,
            expose_value=False,
            callback=_kept(_CHANGES),
            help="Change a key of the instance, for example fabric.lasers=8;"
            " repeatable.",
        ),
        click.Option(
            ["--size"],
            metavar="BYTES",
            expose_value=False,
            callback=_kept(_SIZE),
            help="Change the buffer of the collective, for example 3MiB.",
        ),
    ]


INSTANCE: Any = _Declared(_instance_parameters)
"""INSTANCE, ``--set`` and ``--size``; `asked_instance` reads what they say."""


def asked_instance(name: str) -> Instance:
    """Return the instance that the current command is asked about.

    `name`: what the argument says: a name of the catalogue, a TOML file, or ``-``.

    Raises `InputError`: there is no such instance or key, or the changed instance is
    not right.
    """
    from lightloom.instances.catalogue import (
        BUFFER_BYTES,
        load_changed,
        parse_size,
    )

    said = click.get_current_context().meta
    changes: dict[str, object] = dict(
        parse_parameters(said.get(_CHANGES, ()), flag="--set")
    )
    if (size := said.get(_SIZE)) is not None:
        changes[BUFFER_BYTES] = parse_size(size, "--size")
    return load_changed(name, changes)


_ALLOWED = "KEY=VALUE; a list is separated by commas, for example radices=4,4,16"


def parse_parameters(
    texts: Iterable[str], *, lists: Collection[str] = (), flag: str = "--param"
) -> dict[str, ParameterValue]:
    """Return the parameters that ``key=value`` texts give.

    `texts`: one text for each use of the option. `lists`: parameters that take a list,
    so that ``radices=16`` is a list of one.

    Raises `InputError`: no ``=``, an empty side, a key given twice, or a list element
    that is not an integer.
    """
    parameters: dict[str, ParameterValue] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            what = "not a parameter"
            raise InputError(what, where=flag, found=text, allowed=_ALLOWED)
        if key in parameters:
            raise InputError("parameter given twice", where=flag, found=key)
        if "," in value or key in lists:
            elements = value.removesuffix(",").split(",")
            parameters[key] = [
                _integer(f"{flag} {key}", element) for element in elements
            ]
        else:
            parameters[key] = _scalar(value)
    return parameters


def _integer(where: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        allowed = "integers separated by commas"
        raise InputError(
            "not an integer", where=where, found=text.strip(), allowed=allowed
        ) from None


def _scalar(text: str) -> int | str | bool:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return text
