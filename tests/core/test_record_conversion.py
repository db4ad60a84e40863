"""Strict conversion: unknown keys, and errors that carry the path."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import pytest

from lightloom.core.errors import FormatError, InputError
from lightloom.core.record import convert


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    """A record in a record."""

    sizes: list[Annotated[int, msgspec.Meta(ge=1)]]


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    """A record that also refuses on its own account."""

    inner: Inner
    name: str = "x"
    kind: Literal["a", "b"] | None = None
    kinds: tuple[Literal["a", "b"], ...] = ()

    def __post_init__(self) -> None:
        if self.name == "bad":
            what, fix = "a bad name", "take a good one"
            raise InputError(what, where="inside", found=self.name, fix=fix)


def test_a_good_table() -> None:
    """A table that fits becomes its record."""
    assert convert({"inner": {"sizes": [1]}}, Outer, where="f") == Outer(Inner([1]))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"inner": {"sizes": [1, 0]}}, "f.inner.sizes[1]: value not allowed; found 0"),
        ({"inner": {"sizes": [1.5]}}, "f.inner.sizes[0]: value not allowed; found 1.5"),
        ({"inner": {}}, "f.inner: missing key 'sizes'"),
        ({"inner": {"sizes": []}, "names": 1}, "did you mean name?"),
        ({"inner": {"sizes": [], "z": 1}}, "f.inner: unknown key 'z'; allowed: sizes"),
        ({"inner": {"sizes": [], "size": 1}}, "did you mean sizes?"),
        ({"inner": {"sizes": ["a"]}}, "found 'a'; allowed: integer"),
        ({"inner": {"sizes": []}, "kind": "c"}, "f.kind: value not allowed; found 'c'"),
        ({"inner": {"sizes": []}, "kind": "c"}, "allowed: a, b"),
        ({"inner": {"sizes": []}, "kinds": ["a", 1]}, "f.kinds[1]: value not allowed"),
        ({"inner": {"sizes": []}, "name": "bad"}, "f: a bad name; found 'bad'; take"),
        ([], "f: value not allowed; found []; allowed: object"),
        ({"inner": list(range(9999))}, "found 'array of 9999'"),
        ({"inner": "y" * 9999}, "yyy...'"),
    ],
)
def test_refusals(table: object, message: str) -> None:
    """What, where, found and allowed are in one short line, of the class asked for."""
    with pytest.raises(FormatError) as caught:
        convert(table, Outer, where="f", error=FormatError)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 250
