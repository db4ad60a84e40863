"""Every reader, on a corpus and on mutations of it: read, or refused in one line."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.mutation import mutated
from fuzz.targets import CORPUS, Target, targets
from fuzz.trial import defect
from lightloom.core.errors import LightloomError
from tests.hang_guard import HUNG_S

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

TARGETS = targets()
FILES = [
    (target, path)
    for target in TARGETS.values()
    for path in itertools.chain(target.files("valid"), target.files("refused"))
]


@pytest.mark.parametrize(
    ("target", "path"),
    FILES,
    ids=[str(path.relative_to(CORPUS)) for _, path in FILES],
)
def test_the_corpus(target: Target, path: Path) -> None:
    """Valid files are read; those that once were worse than refused are refused."""
    assert defect(target, path, seconds=HUNG_S) is None
    if path.name.startswith("valid"):
        target.read(path)
    else:
        with pytest.raises(LightloomError):
            target.read(path)


def test_the_corpus_is_small_and_whole() -> None:
    """Each target has a seed; no file is large, and none lies about unread."""
    assert all(target.files("valid") for target in TARGETS.values())
    files = {path for path in CORPUS.rglob("*") if path.is_file()}
    assert max(path.stat().st_size for path in files) < 20_000
    known = {path for _, path in FILES}
    assert {path for path in files - known if path.parent.name != "onnx"} == set()


@pytest.mark.parametrize("name", TARGETS)
def test_mutations_of_valid_files(name: str, tmp_path: Path) -> None:
    """Bytes, words and values changed: nothing but a refusal in one line."""
    target = TARGETS[name]
    path = tmp_path / f"file{target.suffix}"

    @settings(max_examples=60)
    @given(st.sampled_from(target.files("valid")), st.randoms(use_true_random=False))
    def check(seed: Path, draw: Random) -> None:
        path.write_bytes(mutated(seed.read_bytes(), target.suffix, draw))
        assert defect(target, path, seconds=HUNG_S) is None

    check()


@pytest.mark.parametrize("name", TARGETS)
def test_arbitrary_bytes(name: str, tmp_path: Path) -> None:
    """Noise is no file of any kind, or happens to be one; it never does harm."""
    target = TARGETS[name]
    path = tmp_path / f"file{target.suffix}"

    @settings(max_examples=40)
    @given(st.binary(max_size=200))
    def check(noise: bytes) -> None:
        path.write_bytes(noise)
        assert defect(target, path, seconds=HUNG_S) is None

    check()
