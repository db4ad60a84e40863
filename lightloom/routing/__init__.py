"""Routes of light: minimum congestion, layers, and proofs of how good they are."""

from __future__ import annotations

from lightloom.core.errors import InputError

ROUTERS = ("minimum-congestion", "random")
"""How circuits may be routed over waveguides: by the LUMORPH paper's Algorithm 2, or at
random among shortest paths."""


def require_router(router: str) -> None:
    """Raise unless a router is one of `ROUTERS`.

    Raises `InputError` if it is not.
    """
    if router not in ROUTERS:
        what, allowed = "unknown router", ", ".join(ROUTERS)
        raise InputError(what, where="router", found=router, allowed=allowed)
