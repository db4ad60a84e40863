"""Options of a solver that are given by its own names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightloom.core.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from lightloom.solvers.options import ExtraValue


def check_not_ours(
    solver: str, extra: Mapping[str, ExtraValue], ours: Collection[str]
) -> None:
    """Refuse extra options that the fields of `SolveOptions` decide.

    Raises `InputError`: naming the first such option.
    """
    for name in extra:
        if name in ours:
            raise InputError(
                f"this option of {solver} is decided by the options of lightloom",
                where=f"options.extra.{name}",
                found=extra[name],
                fix="use the limits, seed, threads and log instead",
            )


def set_field(solver: str, message: Any, name: str, value: ExtraValue) -> None:  # noqa: ANN401
    """Set a field of a solver's parameter message.

    Raises `InputError`: no such field (nearest names suggested), or not of its type.
    """
    known = list(message.DESCRIPTOR.fields_by_name)
    where = f"options.extra.{name}"
    if name not in known:
        what, fix = f"{solver} has no such option", nearest(name, known)
        raise InputError(what, where=where, found=value, fix=fix)
    try:
        setattr(message, name, value)
    except (AttributeError, TypeError, ValueError):
        what = f"{solver} does not take this value"
        raise InputError(what, where=where, found=value) from None
