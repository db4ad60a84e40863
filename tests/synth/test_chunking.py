"""Chunk counts: divisibility, elements, the user's choice, and sizes of any shape."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lightloom.core.errors import InputError
from lightloom.core.task import Collective
from lightloom.instances.collectives import COLLECTIVES, check_collective
from lightloom.synth.chunking import choose_chunks


def _chunks(op: str, ranks: int, size: int, wanted: int) -> int:
    task = Collective(op, tuple(range(ranks)), size)
    return choose_chunks(task, wanted).chunk_count


@settings(deadline=None)
@given(
    st.sampled_from(sorted(COLLECTIVES)),
    st.integers(1, 64),
    st.integers(1, 2**50),
    st.integers(1, 5000),
)
def test_chunks_are_admissible(op: str, ranks: int, size: int, wanted: int) -> None:
    """The choice passes the collective's own check and keeps elements whole."""
    blocks = ranks if COLLECTIVES[op].uses_blocks else 1
    size *= blocks
    chosen = choose_chunks(Collective(op, tuple(range(ranks)), size), wanted)
    check_collective(chosen, ranks)
    if size % (4 * blocks) == 0:
        assert chosen.chunk_bytes % 4 == 0


@settings(deadline=None)
@given(st.integers(1, 3000), st.integers(1, 40))
def test_rule_against_all_divisors(size: int, wanted: int) -> None:
    """The wanted number, else the least of 64 times as many, else the most."""
    units = size // 4 if size % 4 == 0 else size
    admissible = [c for c in range(1, units + 1) if units % c == 0]
    fine = [c for c in admissible if c >= 64 * wanted]
    expected = wanted if wanted in admissible else (fine or admissible[-1:])[0]
    assert _chunks("all-reduce", 3, size, wanted) == expected


def test_small_and_large_buffers() -> None:
    """1 KiB on 48 ranks has 256 elements; 64 MiB on 48 is cut finely."""
    assert _chunks("all-reduce", 48, 1024, 48) == 256
    assert _chunks("all-reduce", 48, 2**26, 48) == 4096
    assert _chunks("all-reduce", 256, 2**26, 4096) == 4096
    assert _chunks("all-gather", 8, 8, 8) == 8


@pytest.mark.parametrize(
    "size", [2**60 - 2, 2**44 - 17, (2**22 - 3) * (2**22 - 17), 897612484786617600]
)
def test_huge_sizes(size: int) -> None:
    """Primes, products of two large primes, and numbers of very many divisors."""
    chunks = _chunks("all-reduce", 7, size, 7)
    assert size % chunks == 0
    assert chunks == 7 or chunks >= 7 * 64


def test_fixed_chunks_are_kept() -> None:
    """What the user fixed is not touched."""
    task = Collective("all-reduce", (0, 1), 1024, 4)
    assert choose_chunks(task, 100) is task


def test_impossible_blocks() -> None:
    """A buffer that the ranks do not divide has no blocks."""
    with pytest.raises(InputError, match="multiple of 3"):
        _chunks("all-gather", 3, 1024, 3)


def test_too_many_chunk_ids() -> None:
    """Chunk ids over all ranks must fit a column."""
    task = Collective("all-to-all", tuple(range(8)), 2**60 - 8, (2**60 - 8))
    with pytest.raises(InputError, match="too many chunks"):
        choose_chunks(task, 8)
