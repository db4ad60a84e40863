"""``lightloom train``: the nodes that --gpus and --jobs leave to the training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lightloom.core.errors import InputError

if TYPE_CHECKING:
    from lightloom.instances.instance import AnyFabric
    from lightloom.instances.jobs import Fragmentation


def nodes_of(
    fabric: AnyFabric, gpus: int | None, jobs: str | None
) -> tuple[tuple[int, ...] | None, Fragmentation | None]:
    """Return the nodes of the training, and how broken up the rest is left.

    Parameters
    ----------
    fabric
        Of all jobs.
    gpus
        Nodes of the training; as many as there are if ``None``.
    jobs
        Jobs that came and went before, as ``--jobs`` takes them.

    Returns
    -------
    ``None`` twice where neither is given.

    Raises
    ------
    InputError
        An invalid job, more nodes than there are, or no whole rows where the fabric
        asks for them.
    """
    from lightloom.instances.jobs import JobMap
    from lightloom.synth.fabrics import plug_of

    if gpus is None and jobs is None:
        return None, None
    placed = plug_of(fabric).layout
    places = JobMap(fabric.node_count, ring=placed.ring)
    for entry in (jobs or "").split(",") if jobs else ():
        name, equals, count = entry.strip().partition("=")
        if name.startswith("-") and not equals:
            places.release(name[1:])
        elif name and count.isdecimal():
            _require_rows(fabric, int(count), "--jobs")
            places.allocate(name, int(count), placed.blocks)
        else:
            allowed = "NAME=NODES, or -NAME"
            raise InputError(
                "invalid job", where="--jobs", found=entry, allowed=allowed
            )
    free = places.fragmentation()
    if gpus is not None and gpus > fabric.node_count:
        raise InputError(
            "more nodes than the fabric has",
            where="--gpus",
            found=gpus,
            allowed=f"1 to {fabric.node_count}",
        )
    wanted = gpus if gpus is not None else free.largest if placed.ring else free.free
    _require_rows(fabric, wanted, "--gpus")
    return places.allocate("", wanted, placed.blocks), places.fragmentation()


def _require_rows(fabric: AnyFabric, nodes: int, option: str) -> None:
    """Raise if so many nodes are no whole rows, where jobs have some of the rows."""
    from lightloom.synth.fabrics import plug_of

    rows_of = plug_of(fabric).layout.rows
    grid = None if rows_of is None else rows_of(fabric)
    if grid is not None and grid.any_rows and nodes % grid.cols:
        what = f"a job has whole rows of a fabric of kind {fabric.kind}"
        allowed = f"multiples of {grid.cols} nodes"
        raise InputError(what, where=option, found=nodes, allowed=allowed)
