"""Plug points: what a folder offers, found by walking it."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def walk(package: str, attribute: str) -> dict[str, Any]:
    """Return what the modules of a folder offer, by name, sorted.

    Parameters
    ----------
    package
        Dotted name of the package whose modules are walked (not recursively).
    attribute
        Module constant that holds the entry, or a tuple of entries; modules
        without it are not plugs. Entries have a `name`.

    Raises
    ------
    ValueError
        If two entries have the same name.
    """
    found: dict[str, Any] = {}
    folder = importlib.import_module(package).__path__
    for info in sorted(pkgutil.iter_modules(folder), key=lambda info: info.name):
        module = importlib.import_module(f"{package}.{info.name}")
        offered = getattr(module, attribute, ())
        for entry in offered if isinstance(offered, tuple) else (offered,):
            if entry.name in found:
                message = f"{package}.{info.name} offers {entry.name!r} a second time"
                raise ValueError(message)
            found[entry.name] = entry
    return dict(sorted(found.items()))
