"""Configurations: so many of them leave a node so many units, however long they last.

For demands on a LIGHTPATH rack, which nobody forwards. With m configurations of data
times t_1 >= ... >= t_m, a schedule takes at least

    d0 + (m - 1) d1 + m alpha + (t_1 + ... + t_m)

(`step_costs`), where t_k is how long data move in configuration k, over all its steps:
a unit, one wavelength of one configuration, moves what takes t_k on one wavelength.
Take a *line*: what a node sends, or receives, or what leaves a set of nodes, a *cut*.
Its pairs have R units of a configuration in all, the wavelengths of the node, or those
of all waveguides out of the set. Let b_1 >= ... >= b_q be how long a wavelength takes
for each of its q pairs, in whole picoseconds, as data times are. Every pair has a unit
at least, and there are m R of them. So the h largest have at most m R - q + h of them:

    b_1 + ... + b_h  <=  what the m R - q + h longest units move.

With weights y >= 0 of such lines and h the right side is at most sum_k c_k t_k, where
c_k adds up y times the units of configuration k among the longest, and c_1 >= c_2 >= ..
If c_1 + ... + c_p <= p for every p, then sum_k c_k t_k <= t_1 + ... + t_m, since the
t_k fall, and so the data times last sum y (b_1 + ... + b_h) at least. With m = 1, a
line also needs ceil(b_j / t) <= R in sum, and the least such t is a bound.

Fewer than ceil(q / R) configurations do not reach the pairs of a line. Whatever m,
the data times last at least (b_1 + ... + b_q) / R. So a witness has weights for each m
from the fewest up to some last one, and a line for all beyond: ``{"least": m,
"node": v, "direction": 0, "weights": [m, v, direction, h, y, ...], "unit": u}``, five
integers a row: fewer than `least` do not reach the pairs of node v, weights are
multiples of 1 / u, and h = 0 stands for the count of m = 1, with y = u. Direction 0 is
what a node sends, 1 what it receives, 2 what leaves the cut of that number, of those
under ``"cuts": [size, nodes ..., ...]``. Beyond the last m the fullest line counts.
The bound is the least over all m.

Weights do not know that a pair which needs a little more than a unit takes two, nor
that pairs share units of several lines. For few configurations a witness may cover all
durations of some sum by boxes (`proofs.duration_walk`): ``"covers": [m, total, length,
walk, ...]``; then data move for more than `total` picoseconds in m configurations.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.task import Demand
from lightloom.core.units import transmission_ps
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.proofs.duration_walk import (
    DividedLines,
    SharedLine,
)
from lightloom.validate.certificates.witness import WitnessError, keys, number, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric
    from lightloom.validate.certificates.proofs.duration_walk import LineKey

_MOST_CONFIGURATIONS = 2**20
_ROW = 5
_COVER_HEAD = 3


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    if not isinstance(fabric, Lightpath) or not isinstance(task, Demand):
        message = "the kind configurations is about demands on LIGHTPATH"
        raise WitnessError(message)
    require_carrier(fabric)
    optional = [key for key in ("covers", "cuts") if key in witness]
    keys(witness, "least", "node", "direction", "unit", "weights", *optional)
    if not task.src:
        return 0
    divided = divided_lines(fabric, task, _cuts(fabric, witness))
    lines = divided.lines
    most = max(fabric.node_count, len(lines))
    named = number(witness, "node", most), number(witness, "direction", 3)
    least = number(witness, "least", _MOST_CONFIGURATIONS)
    line = lines.get(named)
    if least != (1 if line is None else max(1, -(-len(line.pairs) // line.room))):
        message = f"least {least} is not proven by {named}, {line}"
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
    rate = fabric.bits_per_second_per_wavelength
    needs_ps = {key: _needs_ps(task, line, rate) for key, line in lines.items()}
    rooms = {key: line.room for key, line in lines.items()}
    fullest = max(-(-sum(needs_ps[key]) // room) for key, room in rooms.items())
    found = [fixed_ps(fabric, last, last) + fullest]
    longer_ps = _covered_ps(divided, witness) if "covers" in witness else {}
    for count in range(least, last):
        data_ps = _data_ps(needs_ps, rooms, count, weights[count], unit)
        data_ps = max(data_ps, longer_ps.get(count, 0))
        found.append(fixed_ps(fabric, count, count) + data_ps)
    return min(found)


def _cuts(fabric: Lightpath, witness: Witness) -> list[IntArray]:
    """Return the nodes of each cut of a witness."""
    flat = rows(witness, "cuts", 0).tolist() if "cuts" in witness else []
    found, place = [], 0
    while place < len(flat):
        size = flat[place]
        nodes = flat[place + 1 : place + 1 + size]
        if size < 1 or len(nodes) < size:
            message = f"a cut of {size} nodes has {len(nodes)}"
            raise WitnessError(message)
        if not 0 <= min(nodes) <= max(nodes) < fabric.node_count:
            message = f"a cut has nodes beyond 0 to {fabric.node_count - 1}"
            raise WitnessError(message)
        found.append(np.array(nodes, dtype=np.int64))
        place += 1 + size
    return found


def divided_lines(
    fabric: Lightpath, demand: Demand, cuts: Sequence[IntArray]
) -> DividedLines:
    """Return a demand with what nodes send and receive, and what leaves cuts.

    `cuts`: nodes of each, which some pair leaves.

    Raises `WitnessError`: no pair leaves a cut, or no waveguide does.
    """
    src, dst = np.array(demand.src), np.array(demand.dst)
    lines: dict[LineKey, SharedLine] = {}
    for direction, ends in enumerate((src, dst)):
        for node in np.unique(ends).tolist():
            pairs = np.flatnonzero(ends == node)
            lines[node, direction] = SharedLine(pairs, fabric.lasers)
    tail, head = fabric.edges()
    for place, nodes in enumerate(cuts):
        inside = np.zeros(fabric.node_count, dtype=np.bool_)
        inside[nodes] = True
        out = inside[tail] & ~inside[head]
        room = int(fabric.edge_waveguides(tail[out], head[out]).sum()) * fabric.lasers
        pairs = np.flatnonzero(inside[src] & ~inside[dst])
        if not room or not len(pairs):
            message = f"{len(pairs)} pairs leave cut {place} on {room} wavelengths"
            raise WitnessError(message)
        lines[place, 2] = SharedLine(pairs, room)
    sizes = np.array(demand.bytes, dtype=np.int64)
    rate = fabric.bits_per_second_per_wavelength
    return DividedLines(sizes, rate, fabric.lasers, lines)


def _needs_ps(demand: Demand, line: SharedLine, rate: int) -> list[int]:
    """Return what the pairs of a line take on one wavelength, the longest first."""
    sizes = [demand.bytes[pair] for pair in line.pairs.tolist()]
    return sorted((transmission_ps(each, rate) for each in sizes), reverse=True)


def _covered_ps(divided: DividedLines, witness: Witness) -> dict[int, int]:
    """Return how long data move at least in each number of configurations covered."""
    if not divided.cuttable:
        message = "a pair takes too long for boxes of durations"
        raise WitnessError(message)
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
        fault = divided.fault(total_ps, count, walk)
        if fault is not None:
            message = f"the cover of {count} configurations: {fault}"
            raise WitnessError(message)
        # Durations are whole picoseconds.
        found[count] = max(total_ps + 1, found.get(count, 0))
    return found


def _data_ps(
    needs_ps: dict[LineKey, list[int]],
    rooms: dict[LineKey, int],
    count: int,
    weights: list[list[int]],
    unit: int,
) -> int:
    """Return what weights prove of the data times of so many configurations."""
    used = [0] * count
    total = 0
    for place, direction, largest, weight in weights:
        key = place, direction
        line, room = needs_ps.get(key, []), rooms.get(key, 0)
        if count == 1 and largest == 0 and len(weights) == 1 and weight == unit:
            return _alone_ps(line, room)
        if not 1 <= largest <= len(line) or weight < 1:
            message = f"{[place, direction, largest, weight]} weighs nothing here"
            raise WitnessError(message)
        units = count * room - len(line) + largest
        for which in range(count):
            used[which] += weight * min(room, max(0, units - which * room))
        total += weight * sum(line[:largest])
    so_far = 0
    for which, each in enumerate(used, start=1):
        so_far += each
        if so_far > which * unit:
            message = f"the weights of {count} configurations are more than they prove"
            raise WitnessError(message)
    return -(-total // unit)


def _alone_ps(line: list[int], room: int) -> int:
    """Return the least time in which one configuration serves a line."""
    if len(line) > room:
        message = "one configuration does not reach so many pairs"
        raise WitnessError(message)
    low, high = 0, max(line, default=0)
    while high - low > 1:
        middle = (low + high) // 2
        if sum(-(-each // middle) for each in line) <= room:
            high = middle
        else:
            low = middle
    return high


BOUND = BoundKind("configurations", _prove, straight=True)
