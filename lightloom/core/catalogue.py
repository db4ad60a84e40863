"""Plug points: what a folder offers, found by walking it."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Protocol, TypeVar


class Named(Protocol):
    """Anything a catalogue can list."""

    @property
    def name(self) -> str:
        """Name in the catalogue."""


NamedT = TypeVar("NamedT", bound=Named)


def walk(package: str, attribute: str, kind: type[NamedT]) -> dict[str, NamedT]:
    """Return what the modules of a folder offer, by name, sorted.

    Parameters
    ----------
    package
        Dotted name of the package whose modules are walked (not recursively).
    attribute
        Module constant that holds the entry, or a tuple of entries; modules
        without it are not plugs.
    kind
        Type of the entries, for the type checker.

    Raises
    ------
    ValueError
        If two entries have the same name.
    """
    del kind
    found: dict[str, NamedT] = {}
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
