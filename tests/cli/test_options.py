"""``--param``: texts to values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lightloom.cli.options import parse_parameters
from lightloom.core.errors import InputError


def test_values_are_read_as_what_they_look_like() -> None:
    """Values of parameters become integers, flags, words or lists."""
    texts = ["a=3", "b=true", "c=word", "d=1,2", " e = 4 ", "f=5,"]
    assert parse_parameters(texts) == {
        "a": 3,
        "b": True,
        "c": "word",
        "d": [1, 2],
        "e": 4,
        "f": [5],
    }


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1))
def test_lists_survive(values: list[int]) -> None:
    """A list parameter comes back as it was written, one element or many."""
    text = f"radices={','.join(map(str, values))}"
    assert parse_parameters([text], lists={"radices"}) == {"radices": values}


@pytest.mark.parametrize("text", ["", "=", "a", "a=", "=1", "a=1,b", "a=,"])
def test_what_is_no_parameter_is_refused(text: str) -> None:
    """A text without key, value or integer elements is refused."""
    with pytest.raises(InputError):
        parse_parameters([text], lists={"a"})


def test_messages_name_the_option() -> None:
    """What is no parameter is refused in the name of its option."""
    with pytest.raises(InputError, match=r"^--option: not a parameter"):
        parse_parameters(["a"], flag="--option")
