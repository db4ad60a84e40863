"""Extras: packages that only some work needs, and what is said where one is missing."""

from __future__ import annotations

import importlib.util

from lightloom.core.errors import InputError


class MissingExtraError(InputError, ImportError):
    """An optional package is not installed; says which extra to install."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra."""
    return f"pip install 'lightloom[{extra}]'"


def require(module: str, extra: str, work: str, *, where: str = "") -> None:
    """Raise where a package of an extra is not installed. Nothing is imported.

    Parameters
    ----------
    module
        A module of the package.
    extra
        The extra that brings it.
    work
        What needs it, for the message: ``runs on a cluster``.
    where
        File or option that asked for the work.

    Raises
    ------
    MissingExtraError
        It is not installed.
    """
    if importlib.util.find_spec(module) is None:
        what = f"{work} need the package {module}, which is not installed"
        raise MissingExtraError(what, where=where, fix=install_command(extra))
