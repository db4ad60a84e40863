"""Every kind of fabric as a record, for example ``lightloom.fabrics.Lightpath``.

The records are those of the catalogue `lightloom.instances.fabrics.FABRICS`, those of
other installed packages included. Nothing is imported before a record is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric


def _records() -> dict[str, type[AnyFabric]]:
    """Return the records by the names of their classes."""
    from lightloom.instances.fabrics import FABRICS

    return {kind.record.__name__: kind.record for kind in FABRICS.values()}


def __getattr__(name: str) -> type[AnyFabric]:
    from lightloom.core.errors import nearest

    records = {} if name.startswith("__") else _records()
    if name in records:
        globals()[name] = records[name]
        return records[name]
    hint = nearest(name, records)
    message = f"module {__name__!r} has no fabric {name!r}"
    raise AttributeError(f"{message}; {hint}" if hint else message)


def __dir__() -> list[str]:
    return sorted(_records())
