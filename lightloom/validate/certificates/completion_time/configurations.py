"""Configurations: so many of them leave a node so many units, however long they last.

For demands on a LIGHTPATH rack, which nobody forwards. With m configurations of data
times t_1 >= ... >= t_m, a schedule takes at least

    d0 + (m - 1) d1 + m alpha + (t_1 + ... + t_m)

(`step_costs`), where t_k is how long data move in configuration k, over all its steps:
a unit, one wavelength of one configuration, moves what takes t_k on one wavelength.
Take what a node sends, or receives, and let b_1 >= ... >= b_q be how long a wavelength
takes for each of its q partners, and L its wavelengths. Every partner has a unit at
least, and there are m L of them. So the h largest have at most m L - q + h units, and

    b_1 + ... + b_h  <=  what the m L - q + h longest units move.

With weights y >= 0 of such lines and h the right side is at most sum_k c_k t_k, where
c_k adds up y times the units of configuration k among the longest, and c_1 >= c_2 >= ..
If c_1 + ... + c_p <= p for every p, then sum_k c_k t_k <= t_1 + ... + t_m, since the
t_k fall, and so the data times last sum y (b_1 + ... + b_h) at least. With m = 1, a
line also needs ceil(b_j / t) <= L in sum, and the least such t is a bound.

Fewer than ceil(q / L) configurations do not reach the partners of a node. Whatever m,
the data times last at least (b_1 + ... + b_q) / L. So a witness has weights for each m
from the fewest up to some last one, and a line for all beyond: ``{"least": m,
"node": v, "direction": 0, "weights": [m, v, direction, h, y, ...], "unit": u}``, five
integers a row: fewer than `least` do not reach the partners of node v, weights are
multiples of 1 / u, and h = 0 stands for the count of m = 1, with y = u. Direction 0 is
what a node sends, 1 what it receives. Beyond the last m the fullest node counts.
The bound is the least over all m.

Weights do not know that a pair which needs a little more than a unit takes two. For few
configurations a witness may cover all durations of some sum by boxes
(`proofs.duration_boxes`): ``"covers": [m, total, length, walk, ...]``; then data move
for more than `total` picoseconds in m configurations.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Demand
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.proofs.duration_boxes import (
    MOST_NUMBER,
    longer_than,
)
from lightloom.validate.certificates.witness import WitnessError, keys, number, rows

if TYPE_CHECKING:
    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_MOST_CONFIGURATIONS = 2**20
_ROW = 5
_COVER_HEAD = 3


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    if not isinstance(fabric, Lightpath) or not isinstance(task, Demand):
        message = "the kind configurations is about demands on LIGHTPATH"
        raise WitnessError(message)
    require_carrier(fabric)
    covered = ("covers",) if "covers" in witness else ()
    keys(witness, "least", "node", "direction", "unit", "weights", *covered)
    lines = _lines(task)
    node = number(witness, "node", fabric.node_count)
    partners = lines.get((node, number(witness, "direction", 2)), [])
    least = number(witness, "least", _MOST_CONFIGURATIONS)
    if least != max(1, -(-len(partners) // fabric.lasers)):
        message = (
            f"node {node} has {len(partners)} partners: least {least} is not proven"
        )
        raise WitnessError(message)
    unit = number(witness, "unit", 2**62)
    weights = defaultdict(list)
    flat = rows(witness, "weights", 0)
    if len(flat) % _ROW:
        message = f"weights are {len(flat)} integers, not rows of {_ROW}"
        raise WitnessError(message)
    for count, *row in flat.reshape(-1, _ROW).tolist():
        weights[count].append(row)
    last = least + len(weights)
    if unit < 1 or sorted(weights) != list(range(least, last)):
        message = "weights are for consecutive numbers of configurations from the least"
        raise WitnessError(message)
    fullest = max((sum(line) for line in lines.values()), default=0)
    rate = fabric.bits_per_second_per_wavelength
    found = [fixed_ps(fabric, last, last) + -(-fullest // (rate * fabric.lasers))]
    longer_ps = _covered_ps(fabric, lines, witness) if covered else {}
    for count in range(least, last):
        data_ps = _data_ps(fabric, lines, count, weights[count], unit)
        data_ps = max(data_ps, longer_ps.get(count, 0))
        found.append(fixed_ps(fabric, count, count) + data_ps)
    return min(found) if fullest else 0


def _lines(demand: Demand) -> dict[tuple[int, int], list[int]]:
    """Return the data of each line in bits times 10**12, the most first."""
    lines: dict[tuple[int, int], list[int]] = defaultdict(list)
    for src, dst, size in zip(demand.src, demand.dst, demand.bytes, strict=True):
        data = size * BITS_PER_BYTE * PS_PER_S
        lines[src, 0].append(data)
        lines[dst, 1].append(data)
    for line in lines.values():
        line.sort(reverse=True)
    return lines


def _covered_ps(
    fabric: Lightpath, lines: dict[tuple[int, int], list[int]], witness: Witness
) -> dict[int, int]:
    """Return how long data move at least in each number of configurations covered."""
    rate = fabric.bits_per_second_per_wavelength
    if max((line[0] for line in lines.values()), default=0) >= rate * MOST_NUMBER:
        message = "a pair takes too long for boxes of durations"
        raise WitnessError(message)
    need_ps = {
        key: np.array([-(-each // rate) for each in line], dtype=np.int64)
        for key, line in lines.items()
    }
    flat = rows(witness, "covers", 0).tolist()
    found: dict[int, int] = {}
    place = 0
    while place < len(flat):
        head = flat[place : place + _COVER_HEAD]
        if len(head) < _COVER_HEAD or head[2] < 0:
            message = f"a cover begins with {head}, not with count, total and length"
            raise WitnessError(message)
        count, total_ps, length = head
        place += _COVER_HEAD + length
        walk = flat[place - length : place]
        fault = longer_than(total_ps, count, walk, need_ps, fabric.lasers)
        if fault is not None:
            message = f"the cover of {count} configurations: {fault}"
            raise WitnessError(message)
        found[count] = max(total_ps, found.get(count, 0))
    return found


def _data_ps(
    fabric: Lightpath,
    lines: dict[tuple[int, int], list[int]],
    count: int,
    weights: list[list[int]],
    unit: int,
) -> int:
    """Return what weights prove of the data times of so many configurations."""
    room, rate = fabric.lasers, fabric.bits_per_second_per_wavelength
    used = [0] * count
    total = 0
    for node, direction, largest, weight in weights:
        line = lines.get((node, direction), [])
        if count == 1 and largest == 0 and len(weights) == 1 and weight == unit:
            return _alone_ps(line, room, rate)
        if not 1 <= largest <= len(line) or weight < 1:
            message = f"{[node, direction, largest, weight]} weighs nothing here"
            raise WitnessError(message)
        units = count * room - len(line) + largest
        for place in range(count):
            used[place] += weight * min(room, max(0, units - place * room))
        total += weight * sum(line[:largest])
    so_far = 0
    for place, each in enumerate(used, start=1):
        so_far += each
        if so_far > place * unit:
            message = f"the weights of {count} configurations are more than they prove"
            raise WitnessError(message)
    return -(-total // (unit * rate))


def _alone_ps(line: list[int], room: int, rate: int) -> int:
    """Return the least time in which one configuration serves a line."""
    if len(line) > room:
        message = "one configuration does not reach so many partners"
        raise WitnessError(message)
    low, high = 0, -(-max(line, default=0) // rate)
    while high - low > 1:
        middle = (low + high) // 2
        if sum(-(-each // (rate * middle)) for each in line) <= room:
            high = middle
        else:
            low = middle
    return high


BOUND = BoundKind("configurations", _prove, straight=True)
