"""`auto` against every named family, over the sizes people use."""

from __future__ import annotations

import pytest

from lightloom.core.task import Collective
from lightloom.core.units import GIB, KIB
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.instance import Instance
from lightloom.synth.synthesise import synthesise

GRIDS = {16: (4, 4), 48: (6, 8), 64: (8, 8), 128: (8, 16), 256: (16, 16)}
SIZES = [4**power * KIB for power in range(11)]


def _times(ranks: int, size_bytes: int) -> tuple[float, dict[str, float]]:
    """Return the completion time of `auto`, and of each baseline."""
    rows, cols = GRIDS[ranks]
    task = Collective("all-reduce", tuple(range(ranks)), size_bytes)
    instance = Instance(Lightpath(rows=rows, cols=cols), task, "test")
    times = {}
    for name in ("auto", "ring", "lumorph-2", "lumorph-4", "multiport"):
        objective = synthesise(instance, name).objective
        assert objective is not None
        times[name] = objective
    return times.pop("auto"), times


@pytest.mark.parametrize("size_bytes", [KIB, 1000 * KIB, GIB])
def test_auto_is_never_slower_on_few_tiles(size_bytes: int) -> None:
    """On 16 tiles no baseline beats `auto`, whatever the size."""
    auto, times = _times(16, size_bytes)
    assert auto <= min(times.values())


@pytest.mark.slow
@pytest.mark.parametrize("ranks", GRIDS)
@pytest.mark.parametrize("size_bytes", SIZES)
def test_auto_is_never_slower(ranks: int, size_bytes: int) -> None:
    """From 16 to 256 tiles and 1 KiB to 1 GiB no baseline beats `auto`."""
    auto, times = _times(ranks, size_bytes)
    assert auto <= min(times.values())
