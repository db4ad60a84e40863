"""Places in errors: what a library calls its arguments, as the user gave them."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from lightloom.core.errors import LightloomError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TABLES = ("collective", "computation", "demand", "fabric", "requests", "workload")
"""Where an instance's own errors are, when they do not say of which instance."""
_OPTIONS = {
    "options.time_limit_s": "--time-limit",
    "options.node_limit": "--node-limit",
    "options.memory_limit_bytes": "--memory-limit",
    "options.seed": "--seed",
    "options.threads": "--threads",
    "algorithm": "--algorithm",
}
_EXTRA = "options.extra."
_ALGORITHM = "algorithm."


@contextlib.contextmanager
def as_given(instance: str = "", **options: str) -> Iterator[None]:
    """Have errors of the block name options, and the instance that they are about.

    `options`: option of each argument of the library, for example
    ``problem="--problem"``.
    """
    try:
        yield
    except LightloomError as problem:
        unknown = problem.what.startswith("unknown key")
        problem.where = _given(problem.where, instance, options, unknown=unknown)
        problem.args = (problem.line(),)
        raise


def _given(
    where: str, instance: str, options: Mapping[str, str], *, unknown: bool
) -> str:
    """Return a place as the user knows it; `unknown` of a key that there is not."""
    option = {**_OPTIONS, **options}.get(where)
    if option is not None:
        return option
    if where.startswith(_EXTRA):
        return f"--option {where.removeprefix(_EXTRA)}"
    if where.startswith(_ALGORITHM):
        # An algorithm's own checks name the key alone, the decoder its name before.
        *_, key = where.split(".")
        return "--param" if unknown else f"--param {key}"
    if instance and re.split(r"[.,: ]", where, maxsplit=1)[0] in _TABLES:
        return f"{instance}: {where}"
    return where
