"""Strategies of a training: devices that share a model, and copies of the model."""

from __future__ import annotations

from dataclasses import dataclass

from lightloom.core.errors import InputError


@dataclass(frozen=True, order=True)
class Strategy:
    """A way to share a training out, k and l in the SiP-ML paper (section 3.2).

    `model_parallel`: devices that share one copy of the model, 1 or more. `replicas`:
    copies of the model, 1 or more; each works on its part of the batch. `batch_size`:
    samples of an iteration, over all replicas, one each at least. Where it does not
    divide, some replicas have a sample more than others, and every one is taken to be
    as slow as these.

    Raises `InputError`: a number below 1, or more replicas than samples.
    """

    model_parallel: int
    replicas: int
    batch_size: int

    def __post_init__(self) -> None:
        for name in ("model_parallel", "replicas", "batch_size"):
            if (found := getattr(self, name)) < 1:
                raise InputError("too few", where=name, found=found, allowed=">= 1")
        if self.batch_size < self.replicas:
            raise InputError(
                "more replicas than samples",
                where="replicas",
                found=self.replicas,
                allowed=f"at most {self.batch_size}, the batch",
                fix="use fewer replicas, or a larger batch",
            )

    @property
    def devices(self) -> int:
        """Devices in use."""
        return self.model_parallel * self.replicas

    @property
    def local_batch(self) -> int:
        """Samples that the replica with most of them works on."""
        return -(-self.batch_size // self.replicas)

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
    *,
    powers: bool = False,
) -> tuple[Strategy, ...]:
    """Return the strategies of so many devices, sorted; some may stay idle.

    Every k and every l that the devices have room for, and every batch with a sample
    for each replica; what is given is kept.

    `model_parallel`: devices of a replica (k), ``None`` for any number. `replicas`:
    number of replicas (l), ``None`` for any number. `most`: largest k where it is not
    given; ``None`` for no limit. `powers`: whether k, where it is not given, is a power
    of two, and l as many as the devices allow, as in the figures of the SiP-ML paper.

    Raises `InputError`: more devices asked for than there are; more replicas than
    samples.
    """
    for name, count in (("model_parallel", model_parallel), ("replicas", replicas)):
        if count is not None and count < 1:
            raise InputError("too few", where=name, found=count, allowed=">= 1")
    devices_asked = (model_parallel or 1) * (replicas or 1)
    if devices_asked > devices:
        raise InputError(
            "more devices asked for than there are",
            where="model_parallel * replicas",
            found=f"{model_parallel or 1} * {replicas or 1} = {devices_asked}",
            allowed=f"at most {devices}",
            fix="use fewer replicas, or a larger fabric",
        )
    room = devices // (replicas or 1)
    last = room if most is None else min(room, most)
    wanted = range(1, last + 1) if model_parallel is None else (model_parallel,)
    every = set()
    for k in wanted:
        if powers and model_parallel is None and k & (k - 1):
            continue
        most_replicas = devices // k
        for batch in batch_sizes:
            fewest = min(most_replicas, batch) if powers else 1
            counts = range(fewest, min(most_replicas, batch) + 1)
            if replicas is not None:
                counts = range(replicas, min(replicas, batch) + 1)
            every |= {Strategy(k, count, batch) for count in counts}
    if not every:
        raise InputError(
            "more replicas than samples in every batch",
            where="batch_size",
            found=", ".join(str(batch) for batch in batch_sizes),
            allowed=f"{replicas or 1} or more",
            fix="choose a larger batch, or fewer replicas",
        )
    return tuple(sorted(every))
