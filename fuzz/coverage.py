"""Fuzz a reader guided by coverage: ``python -m fuzz.coverage TARGET [OPTION...]``.

Needs the package atheris; options are those of libFuzzer, such as
``-max_total_time=600``. What crashes is kept in the working directory.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """Fuzz the target that is named first."""
    import atheris

    with atheris.instrument_imports(include=["lightloom"]):
        from fuzz.mutation import mutated
        from fuzz.targets import targets
        from fuzz.trial import defect
    target = targets()[sys.argv[1]]
    folder = tempfile.mkdtemp()
    path = Path(folder) / f"file{target.suffix}"

    def once(data: bytes) -> None:
        path.write_bytes(data)
        if (found := defect(target, path)) is not None:
            raise AssertionError(found)

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        draw = random.Random(seed)
        if draw.random() < 0.5:
            return bytes(atheris.Mutate(data, most))
        return mutated(data or b"\n", target.suffix, draw)[:most]

    # libFuzzer adds what it finds to the first folder.
    grown = Path(folder) / "corpus"
    grown.mkdir()
    seeds = target.files("valid")[0].parent
    options = [sys.argv[0], *sys.argv[2:], str(grown), str(seeds)]
    atheris.Setup(options, once, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
