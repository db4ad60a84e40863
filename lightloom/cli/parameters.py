"""``--param key=value``: parameters of an algorithm as a person writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from lightloom.core.schedule import ParameterValue

_WHERE = "--param"
_ALLOWED = "KEY=VALUE; a list is separated by commas, for example radices=4,4,16"


def parse_parameters(
    texts: Iterable[str], *, lists: Collection[str] = (), option: str = _WHERE
) -> dict[str, ParameterValue]:
    """Return the parameters that ``key=value`` texts give.

    Parameters
    ----------
    texts
        One text for each use of the option.
    lists
        Parameters that take a list, so that ``radices=16`` is a list of one.
    option
        The option that they are given by, for messages.

    Raises
    ------
    InputError
        No ``=``, an empty side, a key given twice, or a list element that is not
        an integer.
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
