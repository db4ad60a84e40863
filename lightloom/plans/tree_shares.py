"""How much of a buffer trees take, such that the busiest links are busy least."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray, IntArray


FEW_LOADS = 5_000
"""Trees times steps times links up to which many ways to divide are tried."""
_WAYS = 24
_LITTLE = 1e-6
"""Weight of a tree beside its load: it chooses one of the best ways to divide."""
_CHANGES = 24
_TRIED = 8
"""Trees that a unit is taken from, and that it is given to, at most."""
_MOST_WORK = 1_000_000
"""Loads that are looked at in order to give away two units at once."""
_HEATS = (0.6, 0.15)
"""Loads that count nearly as the busiest, in units: many at first."""


def divided(
    load: FloatArray, weight: FloatArray | float = 0.0
) -> tuple[float, FloatArray, FloatArray]:
    """Return the time of a unit, prices of links in steps, and the best shares.

    `load`: of a unit of each tree on each link in each step, shape (trees, steps,
    links). `weight`: what a tree costs beside that, shape (trees,).
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, kron

    trees, steps, links = load.shape
    loads = csr_array(load.reshape(trees, -1).T)
    longest = kron(eye_array(steps), -np.ones((links, 1)))
    whole = np.repeat([1.0, 0.0], [trees, steps])
    found = linprog(
        1.0 - whole + np.append(np.zeros(trees) + weight, np.zeros(steps)),
        A_ub=csr_array(hstack([loads, longest])),
        b_ub=np.zeros(steps * links),
        A_eq=whole[None, :],
        b_eq=[1.0],
        method="highs-ds",
    )
    assert found.success
    price = -found.ineqlin.marginals.reshape(steps, links)
    return float(found.fun), price, found.x[:trees]


def whole_shares(load: FloatArray, share: FloatArray, units: int) -> IntArray:
    """Return how many units each tree takes, shape (trees,).

    Near the shares, or, where loads are few, near others that are as good.

    `load`: of a unit of each tree on each link in each step, shape (trees, steps,
    links). `share`: parts of the whole, which add up to 1, shape (trees,).
    """
    best = _near(load, share, units)
    if load.size > FEW_LOADS:
        return best
    longest = _longest(np.tensordot(best, load, 1))
    least = divided(load)[0] * units * (1 + _LITTLE / units)
    random = np.random.default_rng(len(load))
    heavy = _LITTLE * float(load.max())
    total = np.zeros(len(load))
    for _ in range(_WAYS):
        if longest <= least:
            break
        other = divided(load, heavy * random.uniform(size=len(load)))[2]
        total += other
        for one in (other, total):
            count = _near(load, one, units)
            lasts = _longest(np.tensordot(count, load, 1))
            if lasts < longest:
                best, longest = count, lasts
    return best


def _near(load: FloatArray, share: FloatArray, units: int) -> IntArray:
    """Return whole numbers of units near shares."""
    ends = np.rint(np.cumsum(share) / share.sum() * units).astype(np.int64)
    count: IntArray = np.diff(ends, prepend=0)
    best = count, _longest(np.tensordot(count, load, 1))
    for heat in _HEATS:
        for _ in range(_CHANGES):
            changed = _changed(load, count, heat * float(load.max()))
            if changed is None:
                break
            count = changed
            longest = _longest(np.tensordot(count, load, 1))
            if longest < best[1]:
                best = count, longest
    return best[0]


def _longest(total: FloatArray) -> float:
    return float(total.max(axis=-1).sum())


def _changed(load: FloatArray, count: IntArray, heat: float) -> IntArray | None:
    """Return what is better with a unit of a tree, or two, given to others, if any."""
    total = np.tensordot(count, load, 1)
    weight = np.exp((total - total.max(axis=1, keepdims=True)) / heat)
    weight /= weight.sum(axis=1, keepdims=True)
    order = np.argsort(np.tensordot(load, weight, 2), kind="stable")
    givers = order[count[order] > 0][::-1][:_TRIED]
    one, other = (ends.reshape(-1) for ends in np.meshgrid(givers, order[:_TRIED]))
    now = _level(total[None], heat)[0] - 1e-9 * heat
    more = load[other] - load[one]
    moved = np.arange(len(one))[:, None]
    if (level := _level(total + more, heat)).min() >= now:
        if len(one) ** 2 * total.size > _MOST_WORK:
            return None
        level = _level((total + more[:, None] + more).reshape(-1, *total.shape), heat)
        first, then = np.divmod(np.arange(len(level)), len(one))
        level[(one[first] == one[then]) & (count[one[first]] < 2)] = np.inf
        moved = np.stack([first, then], axis=1)
    chosen = moved[level.argmin()]
    if level.min() >= now:
        return None
    better = count.copy()
    np.add.at(better, one[chosen], -1)
    np.add.at(better, other[chosen], 1)
    return better


def _level(total: FloatArray, heat: float) -> FloatArray:
    """Return the sum over steps of loads that are near the largest, smoothly."""
    most = total.max(axis=2, keepdims=True)
    near = np.log(np.exp((total - most) / heat).sum(axis=2))
    level: FloatArray = (most[:, :, 0] + heat * near).sum(axis=1)
    return level
