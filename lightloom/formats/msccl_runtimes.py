"""Runtimes that load MSCCL XML: the words each accepts, and its limits.

Facts of three loaders: ``msccl`` is microsoft/msccl (2023), ``azure`` the executor of
Azure/msccl-executor-nccl, ``rccl`` the loader in ROCm's RCCL.
"""

from __future__ import annotations

from dataclasses import dataclass

from lightloom.core.errors import InputError, nearest

__all__ = ["RUNTIMES", "MscclRuntime", "runtime_of"]

_COMMON = {
    "all-reduce": "allreduce",
    "all-gather": "allgather",
    "reduce": "reduce",
    "broadcast": "broadcast",
    "all-to-all": "alltoall",
}
_KINDS = ("s", "r", "rcs", "rrc", "rrs", "rrcs", "cpy", "re", "nop")
_BASIC = ("name", "proto", "nchannels", "nchunksperloop", "ngpus", "coll")
_MORE = ("inplace", "outofplace", "minBytes", "maxBytes")


@dataclass(frozen=True)
class MscclRuntime:
    """One loader of MSCCL XML.

    Attributes
    ----------
    name
        Name on the command line.
    operations
        The operations it knows: lightloom's name to its own.
    kinds
        Instructions it knows.
    required
        Attributes that the element ``algo`` must have.
    most_steps
        Steps of a thread block at most.
    most_thread_blocks
        Thread blocks of a GPU at most.
    zero_is_unlimited
        Whether ``maxBytes="0"`` means that there is no limit.
    most_blocks_per_channel, most_channels
        Thread blocks of a GPU in one channel, and channels, at most.
    most_count
        Chunks that one step may move.
    most_awaited_block
        Greatest id of a thread block that others may wait for.
    most_elements
        XML elements of one GPU at most, its own included.
    most_name
        Characters of the program's name.
    """

    name: str
    operations: dict[str, str]
    kinds: tuple[str, ...]
    required: tuple[str, ...]
    most_steps: int
    most_thread_blocks: int
    zero_is_unlimited: bool
    most_blocks_per_channel: int = 32
    most_channels: int = 32
    most_count: int = 71
    most_awaited_block: int = 127
    most_elements: int = 4096
    most_name: int = 63


RUNTIMES = {
    runtime.name: runtime
    for runtime in (
        MscclRuntime(
            "msccl",
            _COMMON | {"reduce-scatter": "reduce_scatter"},
            (*_KINDS, "ra"),
            _BASIC,
            most_steps=256,
            most_thread_blocks=216,
            zero_is_unlimited=False,
        ),
        MscclRuntime(
            "azure",
            _COMMON | {"reduce-scatter": "reducescatter"},
            _KINDS,
            (*_BASIC, *_MORE),
            most_steps=64,
            most_thread_blocks=1024,
            zero_is_unlimited=True,
        ),
        MscclRuntime(
            "rccl",
            _COMMON | {"reduce-scatter": "reducescatter"},
            _KINDS,
            (*_BASIC, *_MORE),
            most_steps=64,
            most_thread_blocks=64,
            zero_is_unlimited=True,
        ),
    )
}
"""The runtimes by name."""


def runtime_of(name: str) -> MscclRuntime:
    """Return the runtime of a name.

    Parameters
    ----------
    name
        ``msccl``, ``azure`` or ``rccl``.

    Raises
    ------
    InputError
        If there is no such runtime.
    """
    if name not in RUNTIMES:
        raise InputError(
            "unknown runtime",
            where="--runtime",
            found=name,
            allowed=", ".join(RUNTIMES),
            fix=nearest(name, RUNTIMES),
        )
    return RUNTIMES[name]
