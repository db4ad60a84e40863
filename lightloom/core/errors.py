"""Errors a user can meet, each with what, where, found, allowed and how to fix.

::

    LightloomError
    +-- InputError        the question is wrong: usage, values, files   (exit 2)
    |   +-- FormatError   a file that cannot be read: damaged, unknown  (exit 2)
    +-- NoAnswerError     no answer within the limits                   (exit 3)
    +-- InfeasibleError   proven: no answer exists                      (exit 4)
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MadeT = TypeVar("MadeT")


_LONGEST_SHOWN = 1000
"""Characters of a text in a message, about ten lines."""
_MOST_COMPARED = 10_000
"""Names among which similar ones are looked for; more take longer than anybody waits
for a hint."""
_ALIKE = 0.55
"""Letters in common, as a part of all, from which on a name may be meant."""


class LightloomError(Exception):
    """Root of every error that is raised on purpose.

    Parameters
    ----------
    what
        What is wrong, as a short clause.
    where
        File, line, path in the file, option or record it was found in.
    found
        The offending value, as it was given.
    allowed
        What would have been accepted.
    fix
        What to do about it.
    """

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        found: object = None,
        allowed: str = "",
        fix: str = "",
    ) -> None:
        self.what = what
        self.where = where
        self.found = found
        self.allowed = allowed
        self.fix = fix
        super().__init__(self.line())

    def line(self) -> str:
        """Return the error as one line."""
        what = _cut(self.what)
        text = f"{self.where}: {what}" if self.where else what
        if self.found is not None:
            text += f"; found {_shown(self.found)}"
        if self.allowed:
            text += f"; allowed: {self.allowed}"
        if self.fix:
            text += f"; {self.fix}"
        return " ".join(text.split())


class InputError(LightloomError, ValueError):
    """The question cannot be asked like this: usage, a value, a combination."""


class FormatError(InputError):
    """A file cannot be read: damaged, truncated, of another version, unknown."""


class NoAnswerError(LightloomError):
    """No answer was found within the limits; one may exist."""

    exit_code = 3


class InfeasibleError(LightloomError):
    """No answer exists, and the message names the reason."""

    exit_code = 4


def placed(make: Callable[[], MadeT], where: str) -> MadeT:
    """Return what is made; the place of what it refuses begins with that of a table.

    Files that are not right keep their own place.

    Parameters
    ----------
    make
        Makes something of values in the table.
    where
        Where the table stands.

    Raises
    ------
    InputError
        As `make` does.
    """
    try:
        return make()
    except FormatError:
        raise
    except InputError as problem:
        raise InputError(
            problem.what,
            where=f"{where}.{problem.where}" if problem.where else where,
            found=problem.found,
            allowed=problem.allowed,
            fix=problem.fix,
        ) from None


def _shown(found: object) -> str:
    """Return an offending value as it was given, cut where it is long."""
    try:
        text = repr(found)
    except ValueError:  # an integer of more digits than Python prints
        return f"a {type(found).__name__} too long to print"
    return _cut(text)


def _cut(text: str) -> str:
    """Return a text without its middle where it is long."""
    half = _LONGEST_SHOWN // 2
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:half]}...{text[-half:]}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean ...?`` for the known names closest to `name`, or ''.

    Capitals and small letters are alike. Among very many or very long names none is
    looked for: it takes too long.

    Parameters
    ----------
    name
        The unknown name.
    known
        The names that are allowed.
    """
    names = sorted(known)
    if len(names) > _MOST_COMPARED or len(name) > _LONGEST_SHOWN:
        return ""
    alike: dict[str, list[str]] = {}
    for other in names:
        if len(other) <= _LONGEST_SHOWN:
            alike.setdefault(other.casefold(), []).append(other)
    found = difflib.get_close_matches(name.casefold(), alike, n=3, cutoff=_ALIKE)
    close = [other for folded in found for other in alike[folded]]
    return f"did you mean {' or '.join(close)}?" if close else ""


def unknown_name(
    noun: str, name: object, known: Iterable[str], *, where: str
) -> InputError:
    """Return the error of a name that is not among the known ones.

    Parameters
    ----------
    noun
        What is named, for example ``algorithm``.
    name
        What was given; ``None`` if nothing was.
    known
        The names that there are, in the order to list them in.
    where
        Where it stands.
    """
    names = tuple(known)
    return InputError(
        f"{'missing' if name is None else 'unknown'} {noun}",
        where=where,
        found=name,
        allowed=", ".join(names),
        fix=nearest(name, names) if isinstance(name, str) else "",
    )
