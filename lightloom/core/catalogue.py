"""Catalogues: what a folder offers, what other packages offer, what a script adds."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from lightloom.core.errors import InputError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView, Iterator, ValuesView
    from importlib.metadata import EntryPoint


class Named(Protocol):
    """What a catalogue lists: anything with a name."""

    @property
    def name(self) -> str:
        """Name in the catalogue."""


EntryT = TypeVar("EntryT", bound=Named)


class Catalogue(Generic[EntryT]):
    """Entries of one sort by name, from a folder or a file of ours and from outside.

    Nothing is imported before it is asked for. Iteration is over names, sorted. Three
    sources are joined: modules of `packages`; entry points of other installed
    packages, imported when their entry is asked for; and what `register` was given.
    No two entries have the same name.

    Parameters
    ----------
    packages
        Dotted names of the packages whose modules are imported, not recursively, or of
        a module that holds all of its entries itself.
    attribute
        Constant of a module that holds its entry, or a tuple of entries; modules
        without it offer nothing.
    noun
        What an entry is, for messages, for example ``algorithm``.
    group
        Group of entry points that other packages offer theirs in, for example
        ``lightloom.algorithms``; '' for none. The name of an entry point is the name
        of its entry.
    """

    def __init__(
        self, *packages: str, attribute: str, noun: str, group: str = ""
    ) -> None:
        self._packages = packages
        self._attribute = attribute
        self._group = group
        self._registered: dict[str, EntryT] = {}
        self.noun = noun

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all entries, sorted; entries of other packages are not imported."""
        return tuple(sorted({*self._own, *self._offered, *self._registered}))

    def get(self, name: object, where: str = "") -> EntryT:
        """Return the entry of a name.

        Parameters
        ----------
        name
            The name. Whatever is not a text is not known.
        where
            Where the name stands, for messages; the noun if ''.

        Raises
        ------
        InputError
            If there is no such entry (nearest names suggested), or another package
            offers it and cannot be imported.
        """
        if isinstance(name, str):
            for source in (self._own, self._registered):
                if name in source:
                    return source[name]
            if name in self._offered:
                return self._load(self._offered[name])
        raise unknown_name(self.noun, name, self.names, where=where or self.noun)

    def register(self, entry: EntryT) -> EntryT:
        """Add an entry that was made in Python, for this process only, and return it.

        What was registered under the same name before is replaced.

        Raises
        ------
        InputError
            If lightloom or an installed package has an entry of that name.
        """
        if entry.name in self._own or entry.name in self._offered:
            what, fix = f"there is a {self.noun} of this name", "use another name"
            raise InputError(what, where=self.noun, found=entry.name, fix=fix)
        self._registered[entry.name] = entry
        return entry

    def values(self) -> ValuesView[EntryT]:
        """Return the entries, sorted by name."""
        return self._all().values()

    def usable(self, say: Callable[[str], None] | None = None) -> Iterator[EntryT]:
        """Yield the entries, sorted by name, without those that cannot be loaded.

        Parameters
        ----------
        say
            Told why an entry of another package is passed over.
        """
        for name in self.names:
            try:
                entry = self.get(name)
            except InputError as problem:
                if say is not None:
                    say(str(problem))
            else:
                yield entry

    def items(self) -> ItemsView[str, EntryT]:
        """Return names and entries, sorted by name."""
        return self._all().items()

    def __getstate__(self) -> dict[str, object]:
        """Return where the entries come from: their code is found again there."""
        kept = vars(self).copy()
        for found in ("_own", "_offered"):
            kept.pop(found, None)
        return kept

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return any(
            name in source for source in (self._own, self._offered, self._registered)
        )

    def __getitem__(self, name: str) -> EntryT:
        return self.get(name)

    def __repr__(self) -> str:
        return f"<{len(self)} entries of sort {self.noun}: {', '.join(self.names)}>"

    def _all(self) -> dict[str, EntryT]:
        return {name: self.get(name) for name in self.names}

    @functools.cached_property
    def _own(self) -> dict[str, EntryT]:
        """Entries of the modules of our packages, by name."""
        found: dict[str, EntryT] = {}
        for package in self._packages:
            for name, entry in _walk(package, self._attribute).items():
                assert name not in found, f"{package} offers {name!r} a second time"
                found[name] = entry
        return found

    @functools.cached_property
    def _offered(self) -> dict[str, EntryPoint]:
        """Entry points of other packages, by name.

        Raises
        ------
        InputError
            If two packages offer the same name, or one of ours.
        """
        if not self._group:
            return {}
        from importlib.metadata import entry_points  # slow: not for those who need none

        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=self._group):
            if point.name in self._own or point.name in found:
                raise InputError(
                    f"a second {self.noun} of this name",
                    where=_place(point),
                    found=point.name,
                    fix=f"give its entry point another name, or uninstall {_of(point)}",
                )
            found[point.name] = point
        return found

    def _load(self, point: EntryPoint) -> EntryT:
        """Return the entry of an entry point.

        Raises
        ------
        InputError
            If it cannot be imported, or has another name.
        """
        try:
            entry: EntryT = point.load()
            name = entry.name
        except Exception as problem:  # whatever another package's module raises
            what = f"the {self.noun} cannot be loaded: {problem}"
            fix = f"mend or uninstall {_of(point)}"
            raise InputError(
                what, where=_place(point), found=point.value, fix=fix
            ) from problem
        if name != point.name:
            what = f"the {self.noun} and its entry point have different names"
            raise InputError(what, where=_place(point), found=name, allowed=point.name)
        return entry


def _walk(package: str, attribute: str) -> dict[str, Any]:
    """Return what the modules of a folder, or a module, offer, by name, sorted.

    Parameters
    ----------
    package
        Dotted name of the package whose modules are walked (not recursively), or of
        a module.
    attribute
        Module constant that holds the entry, or a tuple of entries; modules
        without it are not plugs. Entries have a `name`.

    Raises
    ------
    ValueError
        If two entries have the same name.
    """
    found: dict[str, Any] = {}
    names = [package]
    folder = getattr(importlib.import_module(package), "__path__", None)
    if folder is not None:
        modules = sorted(info.name for info in pkgutil.iter_modules(folder))
        names = [f"{package}.{name}" for name in modules]
    for name in names:
        offered = getattr(importlib.import_module(name), attribute, ())
        for entry in offered if isinstance(offered, tuple) else (offered,):
            if entry.name in found:
                message = f"{name} offers {entry.name!r} a second time"
                raise ValueError(message)
            found[entry.name] = entry
    return dict(sorted(found.items()))


def _of(point: EntryPoint) -> str:
    """Return the installed package that offers an entry point."""
    return point.dist.name if point.dist else "its package"


def _place(point: EntryPoint) -> str:
    return f"entry point {point.group}: {point.name} of {_of(point)}"
