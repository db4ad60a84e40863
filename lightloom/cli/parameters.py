"""``--param key=value``: parameters and variants as a person writes them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from lightloom.core.schedule import ParameterValue
    from lightloom.problems import Problem


_WHERE = "--param"
_ALLOWED = "KEY=VALUE; a list is separated by commas, for example radices=4,4,16"
_WORDS = {"bool": "true or false", "int": "integer", "str": "text"}


def parse_parameters(
    texts: Iterable[str], *, lists: Collection[str] = (), option: str = _WHERE
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
            raise InputError(what, where=option, found=text, allowed=_ALLOWED)
        if key in parameters:
            raise InputError("parameter given twice", where=option, found=key)
        if "," in value or key in lists:
            elements = value.removesuffix(",").split(",")
            parameters[key] = [
                _integer(f"{option} {key}", element) for element in elements
            ]
        else:
            parameters[key] = _scalar(value)
    return parameters


def parse_variant(
    problem: Problem, texts: Iterable[str], horizon: int | None
) -> dict[str, object]:
    """Return the keyword arguments of a model's ``build`` that texts give.

    `texts`: one text for each use of ``--param``. `horizon`: of ``--horizon``, which is
    a short form; ``None`` if it is not given.

    Raises `InputError`: no such variant (nearest names suggested), or a value that it
    does not take.
    """
    given = [*texts, *([] if horizon is None else [f"horizon={horizon}"])]
    parsed: dict[str, object] = dict(parse_parameters(given))
    problem.check_variant(parsed)
    for_model = {key: value for key, value in parsed.items() if key != "method"}
    takes = inspect.signature(problem.model().build).parameters if for_model else {}
    for key, value in for_model.items():
        kinds = str(takes[key].annotation).split(" | ")
        plain = [kind for kind in kinds if kind in _WORDS]
        if not plain:
            fix = "build the model in Python"
            raise InputError("not to be given as text", where=key, fix=fix)
        if type(value).__name__ not in plain:
            allowed = " or ".join(_WORDS[kind] for kind in plain)
            raise InputError("wrong type", where=key, found=value, allowed=allowed)
    return parsed


def places() -> dict[str, str]:
    """Return the option of each argument of a problem, for messages."""
    from lightloom.problems import PROBLEMS

    variants = {
        name: f"{_WHERE} {name}"
        for problem in PROBLEMS.values()
        for name, _ in problem.variants
    }
    variants["method"] = f"{_WHERE} method"
    return {"problem": "--problem", "solver": "--solver", **variants}


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
