"""Strategies of a training: devices that share a model, and copies of the model."""

from __future__ import annotations

from dataclasses import dataclass

from lightloom.core.errors import InputError

__all__ = ["Strategy", "strategies"]


@dataclass(frozen=True, order=True)
class Strategy:
    """A way to share a training out, k and l in the SiP-ML paper (section 3.2).

    Attributes
    ----------
    model_parallel
        Devices that share one copy of the model, 1 or more.
    replicas
        Copies of the model, 1 or more; each works on its part of the batch.
    batch_size
        Samples of an iteration, over all replicas; a multiple of `replicas`.

    Raises
    ------
    InputError
        A number below 1, or a batch that does not divide by the replicas.
    """

    model_parallel: int
    replicas: int
    batch_size: int

    def __post_init__(self) -> None:
        for name in ("model_parallel", "replicas", "batch_size"):
            if (found := getattr(self, name)) < 1:
                raise InputError("too few", where=name, found=found, allowed=">= 1")
        if self.batch_size % self.replicas:
            raise InputError(
                "the batch does not divide by the replicas",
                where="batch_size",
                found=self.batch_size,
                allowed=f"multiples of {self.replicas}",
                fix="use fewer replicas, or another batch",
            )

    @property
    def devices(self) -> int:
        """Devices in use."""
        return self.model_parallel * self.replicas

    @property
    def local_batch(self) -> int:
        """Samples that one replica works on."""
        return self.batch_size // self.replicas

    def __str__(self) -> str:
        """Return the strategy in words."""
        return (
            f"{self.model_parallel} x {self.replicas} devices, batch {self.batch_size}"
        )


def strategies(
    devices: int,
    batch_sizes: tuple[int, ...],
    model_parallel: int | None = None,
    replicas: int | None = None,
    most: int | None = None,
) -> tuple[Strategy, ...]:
    """Return the strategies of so many devices, sorted.

    Where neither number is given, k runs through the powers of two, up to `most`, and l
    is what the devices allow; what is given is kept. Batches that do not divide are
    left out.

    Parameters
    ----------
    devices
        How many devices there are.
    batch_sizes
        Samples of an iteration over all devices that may be chosen.
    model_parallel
        Devices of a replica (k), ``None`` for any power of two.
    replicas
        Number of replicas (l), ``None`` for as many as the devices allow.
    most
        Largest k that is tried where it is not given; ``None`` for no limit.

    Raises
    ------
    InputError
        More devices asked for than there are; no batch that divides.
    """
    for name, count in (("model_parallel", model_parallel), ("replicas", replicas)):
        if count is not None and count < 1:
            raise InputError("too few", where=name, found=count, allowed=">= 1")
    asked = (model_parallel or 1) * (replicas or 1)
    if asked > devices:
        raise InputError(
            "more devices asked for than there are",
            where="model_parallel * replicas",
            found=f"{model_parallel or 1} * {replicas or 1} = {asked}",
            allowed=f"at most {devices}",
            fix="use fewer replicas, or a larger fabric",
        )
    room = devices // (replicas or 1)
    last = room if most is None else min(room, most)
    powers = [2**power for power in range(last.bit_length())]
    wanted = [model_parallel] if model_parallel is not None else powers
    pairs = [(k, replicas or devices // k) for k in wanted]
    found = {
        Strategy(k, count, batch)
        for k, count in pairs
        for batch in batch_sizes
        if not batch % count
    }
    if not found:
        fewest = min(count for _, count in pairs)
        raise InputError(
            "no batch divides by the number of replicas",
            where="batch_size",
            found=", ".join(str(batch) for batch in batch_sizes),
            allowed=f"multiples of {fewest} or more replicas",
            fix="choose a batch that does, or the replicas",
        )
    return tuple(sorted(found))
