"""Fuzz every reader for some minutes: ``python -m fuzz.run --minutes 10``.

Each target runs in a process of its own, mutated files of the corpus one after
another, the same ones for the same seed. Files that are not read or refused as they
should be are kept, one of each kind of failure. The exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.mutation import mutated
from fuzz.targets import targets
from fuzz.trial import bound_memory, defect


@dataclass
class Tally:
    """What a target came to.

    Attributes
    ----------
    trials
        Files tried.
    defects
        Last lines of the failures, each with the file that was kept.
    """

    trials: int = 0
    defects: dict[str, str] = field(default_factory=dict)


def fuzz(name: str, seconds: float, seed: int, kept: Path) -> Tally:
    """Fuzz a target, keeping what fails in the folder `kept`."""
    target, tally = targets()[name], Tally()
    draw = random.Random(f"{name} {seed}")
    seeds = [path.read_bytes() for path in target.files("valid")]
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{target.suffix}"
        last = kept / f"last-{name}{target.suffix}"
        while time.monotonic() < end:
            data = mutated(draw.choice(seeds), target.suffix, draw)
            last.write_bytes(data)  # for those that take the process with them
            path.write_bytes(data)
            tally.trials += 1
            if (found := defect(target, path)) is not None:
                kind = _kind(found)
                if kind not in tally.defects:
                    file = kept / f"{name}-{len(tally.defects)}{target.suffix}"
                    file.write_bytes(data)
                    file.with_suffix(".why").write_text(found)
                    tally.defects[kind] = file.name
        last.unlink()
    return tally


def _kind(found: str) -> str:
    """Return a failure without what differs from file to file."""
    lines = found.splitlines()
    places = [line.strip() for line in lines if "/lightloom/" in line]
    return f"{places[-1] if places else ''} {re.sub(r'[0-9]+', 'N', lines[-1])[:120]}"


def _child(name: str, seconds: float, seed: int, kept: Path) -> None:
    bound_memory()
    tally = fuzz(name, seconds, seed, kept)
    print(f"{name}: {tally.trials} files, {len(tally.defects)} defects", flush=True)
    for kind, file in tally.defects.items():
        print(f"  {file}: {kind}", flush=True)
    sys.exit(1 if tally.defects else 0)


def main() -> None:
    """Fuzz the targets asked for, two at a time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="in all")
    parser.add_argument("--target", action="append", choices=targets(), default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="targets at a time")
    parser.add_argument("--out", type=Path, default=Path("out/fuzz"))
    given = parser.parse_args()
    names = given.target or list(targets())
    given.out.mkdir(parents=True, exist_ok=True)
    seconds = given.minutes * 60 * given.jobs / len(names)
    waiting, running, failed = list(names), {}, []
    while waiting or running:
        while waiting and len(running) < given.jobs:
            name = waiting.pop(0)
            arguments = (name, seconds, given.seed, given.out)
            running[name] = multiprocessing.Process(target=_child, args=arguments)
            running[name].start()
        time.sleep(0.1)
        for name in [name for name in running if not running[name].is_alive()]:
            code = running.pop(name).exitcode
            if code:
                failed.append(name)
            if code not in {0, 1}:
                print(f"{name}: the process ended with {code}; see last-{name}*")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
