"""Ring steps: what leaves the root late has to leave it twice, or to go far at once.

For broadcast and reduce of B bytes among all n nodes of a ring with g directions.
Witness: some numbers of ``steps`` P_1 < P_2 < ..., and for each as many ``prices``, one
after another in a list, of a span in each step, which never fall.

Take one P. In step t a span costs p(t); one that leads out of the root costs q(t) =
S - (n - 1) p(t) more, and one that leads into it nothing. In data time x_t a span
carries W r x_t bits: W wavelengths of rate r. So all bits of a step together pay no
more than g ((n - 1) p(t) + q(t)) W r x_t = g S W r x_t. On the other hand look at the
transfers through which each node first comes to know of a byte: a tree of circuits,
each in a later step than the one that its source heard by. It costs C at least, the
least of all such trees (`RingTrees`). So the data time D of P steps, or of fewer, is at
least

    D  >=  B C / (g S W r).

For more steps than all P_i prices that rise evenly do the same, in closed form
(`rising_cost`); they are looked at for ever more steps at a time, as long as that can
make a difference. A reduce is the same with time and all circuits turned around: of
each rank's contribution the transfers count by which it leaves the rank for the last
time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics.ring import Ring
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.proofs.ring_trees import (
    NEVER,
    RingTrees,
    rising_cost,
)
from lightloom.validate.certificates.witness import WitnessError, keys, rows

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

WHOLE = 2**20
"""What all prices of a step are together, S."""
MOST_NODES = 128
MOST_STEPS = 128
_FINE = 24
"""Up to so many steps are looked at one by one."""
_FAR = 1 << 16


def serves(fabric: AnyFabric, task: Task) -> bool:
    """Tell whether the kind is about a question."""
    if not isinstance(fabric, Ring) or not isinstance(task, Collective):
        return False
    op = op_of(task)
    if not op.rooted or op.uses_blocks:
        return False
    return 3 <= fabric.nodes <= MOST_NODES and task.rank_count == fabric.nodes


def fewest_steps(fabric: Ring) -> int:
    """Return how many circuits lead to the farthest node, one after another."""
    both = fabric.directions > 1
    farthest = fabric.nodes // 2 if both else fabric.nodes - 1
    return -(-farthest // fabric.reach)


def data_ps(fabric: Ring, task: Collective, cost: int, whole: int) -> int:
    """Return the time of the buffer times `cost` at the rate of fibres times `whole`.

    `cost`, `whole`: what a tree costs at least, and what prices of a step are together.
    """
    fibres = fabric.directions * fabric.wavelengths
    rate = fibres * fabric.bits_per_second_per_wavelength
    bits = task.buffer_bytes * BITS_PER_BYTE * cost
    return -(-bits * PS_PER_S // (rate * whole))


def table_ps(
    fabric: Ring, task: Collective, over: int, most: int, cost: int
) -> int | None:
    """Return what steps take at least that one table speaks for.

    The better of what it says and what prices that rise evenly do. ``None`` if there
    are no trees of so few steps.

    `cost`: what a tree costs at least with the prices of the table.
    """
    if cost >= NEVER:
        return None
    own_ps = fixed_ps(fabric, over + 1, 1) + data_ps(fabric, task, cost, WHOLE)
    return max(own_ps, far_ps(fabric, task, over, None, most))


def far_ps(
    fabric: Ring, task: Collective, over: int, best_ps: int | None, most: int = _FAR
) -> int:
    """Return what more than so many steps take at least, `best_ps` if that is less.

    `over`: number of steps, 0 or more. `best_ps`: what fewer steps take at least,
    ``None`` if that is not known. `most`: steps at most; the default stands for any
    number.
    """
    whole_ps = data_ps(fabric, task, 1, 1)
    while over < most:
        before_ps = fixed_ps(fabric, over + 1, 1)
        if best_ps is not None and before_ps + whole_ps >= best_ps:
            break
        over = min(most, over + 1 + over // _FINE)
        cost, whole = rising_cost(fabric.nodes, over, one_way=fabric.directions == 1)
        moving_ps = max(whole_ps, data_ps(fabric, task, cost, whole))
        if over == _FAR or not fabric.alpha_ps:
            moving_ps = whole_ps  # for any number of steps
        now_ps = before_ps + moving_ps
        best_ps = now_ps if best_ps is None else min(best_ps, now_ps)
    assert best_ps is not None
    return best_ps


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    if not serves(fabric, task):
        message = (
            "the kind ring-steps is about broadcast and reduce among all of up to"
            f" {MOST_NODES} nodes of a ring"
        )
        raise WitnessError(message)
    assert isinstance(fabric, Ring)
    assert isinstance(task, Collective)
    keys(witness, "steps", "prices")
    steps, prices = rows(witness, "steps", 0), rows(witness, "prices", 0)
    if (np.diff(steps, prepend=0) < 1).any() or steps.max(initial=0) > MOST_STEPS:
        message = f"steps are not ever more, from 1 to {MOST_STEPS}"
        raise WitnessError(message)
    if len(prices) != steps.sum():
        message = "prices are not as many as the steps"
        raise WitnessError(message)
    best_ps: int | None = None
    last = fewest_steps(fabric) - 1
    for own in np.split(prices, np.cumsum(steps)[:-1]) if len(steps) else ():
        _refuse_wild(fabric, own)
        if len(own) <= last:
            continue
        found_ps = table_ps(fabric, task, last, len(own), _tree_cost(fabric, own))
        if found_ps is not None:
            best_ps = found_ps if best_ps is None else min(best_ps, found_ps)
        last = len(own)
    return far_ps(fabric, task, last, best_ps)


def _tree_cost(fabric: Ring, prices: IntArray) -> int:
    """Return what a tree costs at least; `NEVER` or more for too few steps."""
    egress = WHOLE - (fabric.nodes - 1) * prices
    one_way = fabric.directions == 1
    trees = RingTrees.of(fabric.nodes, fabric.reach, prices, egress, one_way=one_way)
    return int(trees.first().min())


def _refuse_wild(fabric: Ring, prices: IntArray) -> None:
    """Raise where prices fall, or are more than a step has."""
    if (np.diff(prices, prepend=0) < 0).any():
        message = "a price is less than one before it, or than 0"
        raise WitnessError(message)
    if prices[-1] * (fabric.nodes - 1) > WHOLE:
        message = f"a price is more than {WHOLE // (fabric.nodes - 1)}"
        raise WitnessError(message)


BOUND = BoundKind("ring-steps", _prove)
"""The kind of bound."""
