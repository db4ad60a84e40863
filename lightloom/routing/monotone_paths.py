"""Cheapest routes on a grid among those that never turn back."""

from __future__ import annotations


def cheapest_staircase(
    price: list[int], cols: int, src: int, dst: int
) -> tuple[int, list[list[bool]]]:
    """Return the price of the cheapest shortest route, and how to trace it.

    All shortest routes of a grid run inside the rectangle between the two tiles
    and never turn back, so one sweep over the rectangle finds the best of them:
    O(tiles of the rectangle), with no queue.

    `price`: price of each edge id (``4 * tail + direction``). `src`, `dst`: two tiles.
    The grids of several layers may be stacked on top of each other: a route stays
    between the rows of its ends.

    Returns the total, and for each row of the rectangle after the first, by column,
    whether the best route arrives there along the column; see `trace`.
    """
    across, down, (stride, along), (step, drop) = _legs(cols, src, dst)
    edge = 4 * src + along
    total = 0
    row = [0]
    for _ in range(across):
        total += price[edge]
        row.append(total)
        edge += 4 * stride
    arrivals: list[list[bool]] = []
    tile = src
    for _ in range(down):
        edge = 4 * tile + drop
        tile += step
        back = 4 * (tile - stride) + along
        total = row[0] + price[edge]
        new, arrival = [total], [True]
        for before in row[1:]:
            edge += 4 * stride
            back += 4 * stride
            total += price[back]
            vertical = before + price[edge]
            if vertical < total:
                total = vertical
                arrival.append(True)
            else:
                arrival.append(False)
            new.append(total)
        arrivals.append(arrival)
        row = new
    return row[-1], arrivals


def trace(cols: int, src: int, dst: int, arrivals: list[list[bool]]) -> list[int]:
    """Return the edge ids, in order, of the route that `cheapest_staircase` found.

    `arrivals`: what the search noted, row by row.
    """
    across, down, (stride, along), (step, drop) = _legs(cols, src, dst)
    tile = dst
    edges: list[int] = []
    while down:
        if arrivals[down - 1][across]:
            tile -= step
            edges.append(4 * tile + drop)
            down -= 1
        else:
            tile -= stride
            edges.append(4 * tile + along)
            across -= 1
    while tile != src:
        tile -= stride
        edges.append(4 * tile + along)
    edges.reverse()
    return edges


def _legs(
    cols: int, src: int, dst: int
) -> tuple[int, int, tuple[int, int], tuple[int, int]]:
    """Return hops across and down, and (node stride, edge direction) of each."""
    from_row, from_col = divmod(src, cols)
    to_row, to_col = divmod(dst, cols)
    across, down = to_col - from_col, to_row - from_row
    horizontal = (1, 2) if across > 0 else (-1, 1)
    vertical = (cols, 3) if down > 0 else (-cols, 0)
    return abs(across), abs(down), horizontal, vertical
