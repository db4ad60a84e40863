"""Random traffic matrices on LIGHTPATH racks of one wafer."""

from __future__ import annotations

from lightloom.bench.families import Family
from lightloom.core.errors import InputError
from lightloom.core.seed import seeded_random
from lightloom.core.task import Demand
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance import Instance

_LEAST_BYTES = 1e5
_SHAPE = 1.2
_MOST_BYTES = 10**6
_SIZES = ("pareto", "uniform")


def make(
    rows: int,
    cols: int,
    percent: int,
    sizes: str = "pareto",
    waveguides: int = 64,
    draw: int = 0,
) -> Instance:
    """Return a random matrix.

    Parameters
    ----------
    rows, cols
        The grid.
    percent
        Of all pairs that have something to send, on average.
    sizes
        ``pareto``: 100 kB or more, of shape 1.2; ``uniform``: up to 1 MB.
    waveguides
        Of each edge.
    draw
        What the matrix is drawn from.
    """
    if sizes not in _SIZES or not 1 <= percent <= 100 or draw < 0:
        allowed = f"1 to 100 percent; {', '.join(_SIZES)}; draw from 0"
        found = (percent, sizes, draw)
        raise InputError("invalid matrix", found=found, allowed=allowed)
    table = {"kind": "lightpath", "rows": rows, "cols": cols}
    table |= {"wafer_rows": rows, "wafer_cols": cols, "waveguides": waveguides}
    fabric = load_fabric(table, "grid")
    rng = seeded_random(draw)
    entries = []
    for src in range(fabric.node_count):
        for dst in range(fabric.node_count):
            if src != dst and rng.random() < percent / 100:
                if sizes == "pareto":
                    size = int(_LEAST_BYTES * rng.paretovariate(_SHAPE))
                else:
                    size = rng.randint(1, _MOST_BYTES)
                entries.append((src, dst, size))
    name = f"{sizes} {rows}x{cols} {percent}% W={waveguides} #{draw}"
    return Instance(fabric, Demand.from_rows(entries), name)


FAMILY = Family("matrices", "random traffic matrices on LIGHTPATH", make)
