"""Verified circuit schedules for optical interconnects of machine learning.

What a script needs is here, loaded when it is asked for::

    import lightloom as ll

    fabric = ll.fabrics.Lightpath(rows=4, cols=4, lasers=8)
    instance = ll.Instance(fabric, ll.Collective("all-reduce", buffer_bytes=1 << 20))
    made = ll.synthesise(instance)
    ll.verify(made.schedule).valid, ll.replay(made.schedule).completion_time_ps

`lightloom.front_door` documents each name.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = [
    "Collective",
    "Demand",
    "Instance",
    "LightloomError",
    "Schedule",
    "Training",
    "bound",
    "fabrics",
    "load_instance",
    "plot",
    "read_schedule",
    "replay",
    "show",
    "solve",
    "synthesise",
    "train",
    "verify",
    "write_schedule",
]

_RECORDS = {
    "Collective": "core.task",
    "Demand": "core.task",
    "Instance": "instances.instance",
    "LightloomError": "core.errors",
    "Schedule": "core.schedule",
    "Training": "core.training",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    found: object
    if name in ("fabrics", "replay"):  # modules; `replay` can be called
        return import_module(f"{__name__}.{name}")
    if name in _RECORDS:
        found = getattr(import_module(f"{__name__}.{_RECORDS[name]}"), name)
    elif name in __all__:
        found = getattr(import_module(f"{__name__}.front_door"), name)
    else:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
