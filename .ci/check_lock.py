"""Check, without a network, that requirements.lock serves pyproject.toml.

Every requirement of the package, of its extra `dev` and of its build must be pinned
to an admissible version, with hashes, for every Python the classifiers name.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")


def pins(lock: str) -> dict[str, list[Requirement]]:
    """Return the pins of a lock file by canonical name; each must carry a hash."""
    found: dict[str, list[Requirement]] = {}
    for entry in re.split(r"\n(?=[A-Za-z])", lock.replace("\\\n", " ")):
        line = entry.partition("#")[0].strip()
        if not line:
            continue
        text, *hashes = line.split("--hash=")
        if not hashes:
            message = f"{text.strip()} has no hash"
            raise ValueError(message)
        pin = Requirement(text.strip())
        found.setdefault(canonicalize_name(pin.name), []).append(pin)
    return found


def faults(project: dict[str, Any], lock: str) -> list[str]:
    """Return what the lock leaves open, one sentence each."""
    pinned = pins(lock)
    package, build = project["project"], project["build-system"]
    wanted = [*package["dependencies"], *build["requires"]]
    wanted += package["optional-dependencies"]["dev"]
    named = map(_CLASSIFIER.match, package["classifiers"])
    pythons = [match[1] for match in named if match]
    found = []
    for requirement in map(Requirement, wanted):
        for python in pythons:
            environment = {"python_version": python}
            environment["python_full_version"] = f"{python}.0"
            chosen = [
                pin
                for pin in pinned.get(canonicalize_name(requirement.name), [])
                if pin.marker is None or pin.marker.evaluate(environment)
            ]
            versions = [next(iter(pin.specifier)).version for pin in chosen]
            if len(versions) != 1 or versions[0] not in requirement.specifier:
                pinned_to = ", ".join(versions) or "nothing"
                found.append(f"{requirement} is pinned to {pinned_to} on {python}")
    if re.search(r"://", lock):
        found.append("the lock names a host")
    return found


def main() -> None:
    """Print the faults and exit 1 if there are any."""
    root = Path(__file__).parent.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    found = faults(project, lock)
    for fault in found:
        print(f"requirements.lock: {fault}; run `make lock`")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
