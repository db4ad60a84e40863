"""Link steps: how little data a few steps bring over links, however many there are.

For collectives on packet fabrics but all-to-all. Witness: links in groups (``links``
and ``groups``); for some numbers of steps P_1 < P_2 < ... ``times``, from 0 to P_i, and
for each time a row of ``potentials``; for the first and the last step of each span
between two times, if they are not the same, a row of ``lengths``, one length for each
group; these rows one after another in a list.

Take one P, and a datum of rank s that rank v needs. After each step it has a potential
in every place: y_0(a), ..., y_P(a), with y_t(a) <= y_(t-1)(a). The last of the copies,
or sums, by which it gets from s to v goes from place to place: in step t it is lifted
from y_(t-1)(a) to at most y_t(b) if a message takes it from a to b, and else by nothing
or less. So all messages that carry it lift it by y_P(v) - y_0(s) together, counting of
each only what is more than nothing.

A message carries the data of one source for all ranks that need them, or where sums
are formed of all sources for all; or only what is for one rank. Whatever a byte of a
message from a to b in step t may carry, it is checked that all of it together is lifted
by no more than the lengths in step t of the links from a to b. Between two times
potentials and lengths lie on straight lines. What all of a message is lifted by is a
sum, or the largest, of what is more than nothing of straight lines, and so convex: if
it is within the lengths in the first and the last step of a span it is so in all. In a
step whose data last x, links carry at most x R_t, bits times lengths, R_t the sum of
rate times length. So

    sum of all potentials to be gained  <=  sum over t of x_t R_t  <=  D max R_t

bounds the data time D of schedules of P steps, and so of those of fewer, which are the
same with empty steps. Schedules of one step take what `one_step_ps` says, and others
what P_i says where P_i is the first that is no less than their steps, which are one
more than P_(i-1) at least. Of so many steps or more, however many, lengths of all links
(``all_links``, ``all_lengths``) say something too, see `link_lengths`, and for
broadcast and reduce `link_stream` (``out``, ``into``). A witness may have no more than
that, all other lists empty.

Potentials depend on the place alone, which ``places`` gives for each source, each v
and each a. Where the translations of a box, ``shape``, leave links' groups as they are,
rank 0 stands for all sources. What gathers, or reduces, without telling all is the same
with time turned around.

On SiPAC the same holds of what nodes hear. Circuits join those that differ in one
digit, so messages do; what a node hears on a level comes by one bus, which is the link
of all these messages, whoever else hears them. A datum that only one rank needs, or
that is summed up, goes by one of the nodes that hear a transmission: else it would
count twice. So where ranks are not told the same, or with time turned around, the
lasers of a node on a level are a link too, of all messages that they send. Steps are
portions; and of more steps than all P_i the bytes count that all must hear, or one
must hear or send (`volume`, `receive`, `send`).

**Streams**: what leaves the root in the last step still goes to one receiver only.

For broadcast and reduce of B bytes on packet fabrics, by links ``out`` and links
``into``. Groups of ranks are those that reach one another over none of the
links `into`; S is the root's group, N the number of the others. It is checked that
each message from S to another rank crosses a link of `out`, and each one into another
group a link of `into`. Let the links of `out` carry r in all, and those of `into` N r'
in all; rates are bits per second, B stands for bits, and steps have t_1, ..., t_P of
data time.

Fix a step k. What leaves S for the first time before k is at most r times the sum of
the t_j before k. Let b be what leaves it first in k: the messages that bring it to
groups in k come from S, at most r t_k in all. What leaves later, a, and b have to
enter N groups, so N (a + b) - r t_k <= N r' (sum of the t_j after k). Together

    B  <=  r (sum before k) + r t_k / N + r' (sum after k)  <=  R (T - t_k (1 - 1 / N))

with R the larger of r and r' and T the sum of all. On average over all k

    T  >=  (B / R) P / (P - 1 + 1 / N).

So the completion time is at least the least of P (alpha + latency) plus this over all
P >= 2, or what a single step takes. A reduce is the same backwards: `out` are links
into S, and `into` are links out of the other groups.

**Potentials**: what messages must do until data are where they are needed.

A datum of rank s that rank v needs has a potential in every place after every step;
which data in which ranks are in places of the same number, a witness says.
Where it waits the potential never rises, so messages must lift it from what it is at s
before the first step to what it is at v after the last.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, isqrt
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S, transmission_ps
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.message_costs import (
    MOST_LENGTH,
    MOST_RANKS,
    LinkLengths,
    PairRoutes,
    free_groups,
    lengths_ps,
    one_step_ps,
)
from lightloom.validate.certificates.completion_time.requirements import (
    CollectiveNeeds,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.witness import WitnessError, keys, numbers, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


_OWN = ("links", "groups", "places", "shape", "times", "lengths", "potentials")
_MOST_STEPS = 2**10
"""Steps of a table: what any number of steps takes says more of so many."""
_FAR = ("all_links", "all_lengths")
_STREAM = ("out", "into")


@dataclass(frozen=True, eq=False)
class StepTable:
    """Lengths and potentials for one number of steps, in between where none are given.

    `times`: after how many steps potentials are given, ascending from 0, shape (spans +
    1,). `lengths`: of each group in the first and the last step of each span, in spans
    of one step once, shape (rows, groups). `potentials`: of each place at these times,
    shape (spans + 1, places).
    """

    times: IntArray
    lengths: IntArray
    potentials: IntArray

    def data_ps(self, lifts: Lifts, rate: IntArray, size_bytes: int) -> int:
        """Return the least data time of so many steps, or raise `WitnessError`.

        `rate`: of all links of each group together, as Python integers, shape
        (groups,).
        """
        if (self.potentials[1:] > self.potentials[:-1]).any():
            message = "a potential rises where data wait"
            raise WitnessError(message)
        ends = list(self.end_steps())
        for length, (steps, before, after) in zip(self.lengths, ends, strict=True):
            allowed = steps * lifts.costs(length)
            if (lifts.prices(before, after) > allowed).any():
                message = "a message is lifted by more than the lengths of its links"
                raise WitnessError(message)
        most = max(int(rate @ length.astype(object)) for length in self.lengths)
        lifted = lifts.height(self.potentials[0], self.potentials[-1])
        if lifted <= 0 or not most:
            return 0
        return transmission_ps(lifted * size_bytes, most)

    def end_steps(self) -> Iterator[tuple[int, IntArray, IntArray]]:
        """Yield the first and the last step of each span, one step once.

        As the number of steps of the span, and that many times the potentials before
        and after the step.
        """
        spans = np.diff(self.times).tolist()
        for steps, low, high in zip(
            spans, self.potentials, self.potentials[1:], strict=False
        ):
            yield steps, steps * low, (steps - 1) * low + high
            if steps > 1:
                yield steps, low + (steps - 1) * high, steps * high


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    if not isinstance(fabric, PacketFabric | Sipac) or not isinstance(task, Collective):
        message = "the kind link-steps is about collectives on packet fabrics and SiPAC"
        raise WitnessError(message)
    if task.op not in FLOWS or task.rank_count < 2:
        message = f"the kind link-steps does not speak of {task.op}"
        raise WitnessError(message)
    keys(witness, *_OWN, *far_keys(fabric, task))
    needs = requirements_of(task, fabric.node_count)
    assert isinstance(needs, CollectiveNeeds)
    ways = Ways.of(fabric, task.nodes, FLOWS[task.op])
    last, times = first_steps(fabric, needs)
    if all(witness[key] == [] for key in _OWN):
        return min([*times, far_ps(fabric, needs, ways.routes, witness, last + 1)])
    link, group = _groups(witness, ways.routes)
    rate = np.zeros(int(group.max(initial=-1)) + 1, dtype=object)
    np.add.at(rate, group, Ways.rates(fabric, link))
    lifts = _lifts(task, ways, witness, link, group)
    for table in _tables(witness, len(rate), lifts.place_count):
        data_ps = table.data_ps(lifts, rate, needs.collective.chunk_bytes)
        steps = int(table.times[-1])
        if steps > last:
            any_ps = far_ps(fabric, needs, ways.routes, witness, last + 1)
            times.append(max(any_ps, steps_ps(fabric, last + 1) + data_ps))
            last = steps
    return min(*times, far_ps(fabric, needs, ways.routes, witness, last + 1))


def far_keys(fabric: AnyFabric, task: Collective) -> tuple[str, ...]:
    """Return the keys of what a witness says of any number of steps."""
    if isinstance(fabric, Sipac):
        return ()
    return (*_FAR, *_STREAM) if streams(task) else _FAR


def steps_ps(fabric: PacketFabric | Sipac, steps: int) -> int:
    """Return what so many steps cost without data."""
    if isinstance(fabric, Sipac):
        return fixed_ps(fabric, steps, 1)
    return steps * step_ps(fabric)


def first_steps(
    fabric: PacketFabric | Sipac, needs: CollectiveNeeds
) -> tuple[int, list[int]]:
    """Return up to how many steps are known already, and what these take at least.

    On SiPAC fewer than data have circuits to take one after another are too few; then
    no time is returned.
    """
    if isinstance(fabric, Sipac):
        return max(0, needs.way(fabric) - 1), []
    return 1, [one_step_ps(fabric, needs)]


def far_ps(
    fabric: PacketFabric | Sipac,
    needs: CollectiveNeeds,
    routes: PairRoutes,
    witness: Witness,
    steps: int,
) -> int:
    """Return what so many steps or more take at least.

    On SiPAC the data are what all must hear, or one must hear or send.

    `steps`: two or more; on SiPAC one or more.
    """
    if isinstance(fabric, Sipac):
        rate = fabric.node_bits_per_s
        everyone = rate * needs.collective.rank_count
        data_ps = max(
            transmission_ps(needs.volume_bytes(), everyone),
            transmission_ps(max(*needs.received_bytes(), *needs.sent_bytes()), rate),
        )
        return steps_ps(fabric, steps) + data_ps
    least_ps = lengths_ps(fabric, needs, routes, witness, _FAR, steps)
    if not streams(needs.collective):
        return least_ps
    return max(least_ps, stream_ps(fabric, needs, routes, witness, steps))


def _groups(witness: Witness, routes: PairRoutes) -> tuple[IntArray, IntArray]:
    """Return distinct links, ascending, and their groups, or raise `WitnessError`."""
    link = rows(witness, "links", 0)
    group = numbers(witness, "groups", 0, len(link) - 1)
    if len(link) != len(group) or not len(link):
        message = "links and groups are not equally many, or none"
        raise WitnessError(message)
    order = np.argsort(link, kind="stable")
    link, group = link[order], group[order]
    if (link[1:] == link[:-1]).any() or not np.isin(link, routes.link).all():
        message = "links names a link twice, or one that no route uses"
        raise WitnessError(message)
    return link, group


def _lifts(
    task: Collective, ways: Ways, witness: Witness, link: IntArray, group: IntArray
) -> Lifts:
    """Return the data of the task, with the groups and classes of a witness."""
    links = ways.routes.link
    place = np.minimum(np.searchsorted(link, links), len(link) - 1)
    of_row = np.where(link[place] == links, group[place], -1)
    shape = tuple(rows(witness, "shape", 0).tolist())
    return Lifts.of(task, ways, of_row, shape, rows(witness, "places", 0))


def _tables(witness: Witness, groups: int, places: int) -> Iterator[StepTable]:
    """Yield the tables for ever more steps, or raise `WitnessError`."""
    times = rows(witness, "times", 0)
    lengths = numbers(witness, "lengths", 0, MOST_LENGTH)
    potentials = numbers(witness, "potentials", -MOST_POTENTIAL, MOST_POTENTIAL)
    tables = np.split(times, np.flatnonzero(times == 0)[1:])
    last = np.array([table[-1] for table in tables if len(table)])
    spans = [np.diff(table) for table in tables]
    if (
        not len(times)
        or times[0]
        or any((span < 1).any() for span in spans)
        or (np.diff(last, prepend=1) < 1).any()
        or last[-1] > _MOST_STEPS
    ):
        message = f"times are not from 0 to ever more steps, up to {_MOST_STEPS}"
        raise WitnessError(message)
    lines = [int(np.minimum(span, 2).sum()) for span in spans]
    if len(lengths) != sum(lines) * groups or len(potentials) != len(times) * places:
        message = "lengths or potentials are not as many as the times ask for"
        raise WitnessError(message)
    lengths, potentials = lengths.reshape(-1, groups), potentials.reshape(-1, places)
    for table, count in zip(tables, lines, strict=True):
        yield StepTable(table, lengths[:count], potentials[: len(table)])
        lengths, potentials = lengths[count:], potentials[len(table) :]


def streams(task: Task) -> bool:
    """Return whether all of the buffer goes from, or to, one root of several ranks."""
    if not isinstance(task, Collective) or task.rank_count < 2:
        return False
    op = op_of(task)
    return op.rooted and not op.uses_blocks


def stream_ps(
    fabric: PacketFabric,
    needs: CollectiveNeeds,
    routes: PairRoutes,
    witness: Witness,
    steps: int,
) -> int:
    """Return what schedules of so many steps or more take at least.

    `witness`: with the links ``out`` and ``into``.

    Raises `WitnessError`: the links are not right.
    """
    out, into = (
        LinkLengths.read(witness, (key, None), fabric, routes)
        for key in ("out", "into")
    )
    away, toward = out.costs(routes), into.costs(routes)
    if needs.reduces:
        away, toward = away.T, toward.T
    others = _checked_groups(needs.collective, away, toward)
    rate = max(Fraction(out.rate), Fraction(into.rate, others))
    bits = needs.collective.buffer_bytes * BITS_PER_BYTE * PS_PER_S
    return _least_ps(step_ps(fabric), bits / rate, others, steps)


def _checked_groups(collective: Collective, away: IntArray, toward: IntArray) -> int:
    """Return the number of groups beside the root's, or raise `WitnessError`.

    `away`, `toward`: how many links of each kind a message crosses, shape (n, n).
    """
    group = free_groups(toward)
    inside = group == group[collective.root_rank]
    if inside.all():
        message = "the links of into part no ranks from the root"
        raise WitnessError(message)
    if not away[np.ix_(inside, ~inside)].all():
        message = "a message from the root's group crosses no link of out"
        raise WitnessError(message)
    apart = (group[:, None] != group) & ~inside
    if not toward[apart].all():
        message = "a message from group to group crosses no link of into"
        raise WitnessError(message)
    return int(group.max())


def _least_ps(base_ps: int, data_ps: Fraction, others: int, least: int) -> int:
    """Return the least of P base + data P / (P - 1 + 1 / N), rounded up, P from least.

    It is convex in P, so its least stands beside the root of its derivative.
    """
    lost = 1 - Fraction(1, others)
    if not base_ps:
        return ceil(data_ps)
    ratio = data_ps * lost / base_ps
    near = isqrt(ratio.numerator // ratio.denominator)
    return min(
        steps * base_ps + ceil(data_ps * steps / (steps - lost))
        for steps in {max(least, near + more) for more in range(3)}
    )


MOST_POTENTIAL = 2**24
"""Largest potential: the sum of what all pairs of ranks gain stays below 2**63."""
_MOST_UNLIKE = 32
"""Ranks up to which each is looked at where none is shown to be like another."""


@dataclass(frozen=True)
class Flow:
    """Which data a collective brings from where to where.

    `rooted`: only the root has data at first; else every rank has some of its own.
    `same`: all other ranks need the data of a source, so a message may serve several of
    them at once; else each needs some that no other does. `summed`: a message may serve
    the data of several sources at once. `turned`: all this holds with time, and the
    messages, turned around.
    """

    rooted: bool
    same: bool
    summed: bool = False
    turned: bool = False


FLOWS = {
    "all-gather": Flow(rooted=False, same=True),
    "all-reduce": Flow(rooted=False, same=True, summed=True),
    "broadcast": Flow(rooted=True, same=True),
    "gather": Flow(rooted=True, same=False, turned=True),
    "reduce": Flow(rooted=True, same=True, turned=True),
    "reduce-scatter": Flow(rooted=False, same=True, turned=True),
    "scatter": Flow(rooted=True, same=False),
}
"""The flow of each collective that potentials say something about."""


@dataclass(frozen=True, eq=False)
class Ways:
    """The messages that there can be between the ranks of a collective.

    `routes`: the links of each message; of SiPAC, the bus by which a rank hears it, and
    where a message serves one rank alone the lasers that send it. `joined`: whether
    there can be a message from rank to rank, shape (n, n).
    """

    routes: PairRoutes
    joined: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls, fabric: PacketFabric | Sipac, nodes: tuple[int, ...], flow: Flow
    ) -> Ways:
        """Return the ways between the nodes of a collective, or raise `WitnessError`.

        On SiPAC messages join nodes that are one circuit apart.
        """
        if isinstance(fabric, Sipac):
            return cls._lit(fabric, nodes, told=flow.turned or not flow.same)
        routes = PairRoutes.of(fabric, nodes)
        return cls(routes, ~np.eye(routes.ranks, dtype=np.bool_))

    @classmethod
    def _lit(cls, fabric: Sipac, nodes: tuple[int, ...], *, told: bool) -> Ways:
        """Return where each rank hears another and, if asked, where that one tells."""
        count = len(nodes)
        if count > MOST_RANKS:
            message = f"{count} ranks, allowed up to {MOST_RANKS}"
            raise WitnessError(message)
        node = np.repeat(np.array(nodes, dtype=np.int64)[:, None], count, axis=1)
        src, dst = node.reshape(-1), node.T.reshape(-1)
        joined = fabric.circuits_apart(src, dst) == 1
        pair = np.flatnonzero(joined)
        level = fabric.level_of(src[pair], dst[pair])
        link = dst[pair] * fabric.levels + level
        if told:
            lasers = (fabric.node_count + src[pair]) * fabric.levels + level
            pair, link = np.concatenate([pair, pair]), np.concatenate([link, lasers])
        return cls(PairRoutes(count, pair, link), joined.reshape(count, count))

    @staticmethod
    def rates(fabric: PacketFabric | Sipac, links: IntArray) -> IntArray:
        """Return the rates of links, as Python integers, shape (links,)."""
        if isinstance(fabric, Sipac):
            rate = fabric.wavelengths * fabric.bits_per_second_per_wavelength
            return np.full(len(links), rate, dtype=object)
        return fabric.link_bits_per_s(links).astype(object)


@dataclass(frozen=True, eq=False)
class Lifts:
    """The data of a collective, and what messages lift them.

    `sources`: ranks that stand for all sources of data. `sums`: row s is the
    permutation that takes rank 0 to rank s, and links to links of the same group; empty
    where every source stands for itself alone. `places`: the place of the datum from
    each source to v at a, from 0, shape (sources, v, a). `usage`: links of each group
    between two ranks, shape (n, n, groups). `joined`: whether there can be a message
    from rank to rank, shape (n, n).
    """

    flow: Flow
    sources: tuple[int, ...]
    sums: IntArray
    places: IntArray
    usage: IntArray
    joined: npt.NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        task: Collective,
        ways: Ways,
        group: IntArray,
        shape: tuple[int, ...],
        places: IntArray,
    ) -> Lifts:
        """Return the lifts of a collective, or raise `WitnessError`.

        `group`: of the link of each row of the routes, from 0; -1 for none. `shape`:
        the box that ranks stand in, whose translations must leave groups as they are;
        empty for none. `places`: of all data in all places, a row after another, shape
        (sources * n * n,).
        """
        flow, routes, ranks = FLOWS[task.op], ways.routes, ways.routes.ranks
        joined = ways.joined
        flat = np.zeros((ranks**2, int(group.max(initial=-1)) + 1), dtype=np.int64)
        some = group >= 0
        np.add.at(flat, (routes.pair[some], group[some]), 1)
        usage: IntArray = flat.reshape(ranks, ranks, -1)
        if flow.turned:
            usage, joined = usage.transpose(1, 0, 2), joined.T
        sums = np.zeros((0, ranks), dtype=np.int64)
        if flow.rooted:
            sources: tuple[int, ...] = (task.root_rank,)
        elif shape:
            sums, sources = _checked_sums(shape, joined, usage), (0,)
        elif ranks <= _MOST_UNLIKE:
            sources = tuple(range(ranks))
        else:
            message = f"{ranks} ranks of which none is shown to be like another"
            raise WitnessError(message)
        count = len(sources) * ranks**2
        if len(places) != count or places.min() < 0 or places.max() >= count:
            message = f"places are not {count} numbers from 0 to {count - 1}"
            raise WitnessError(message)
        by_source = places.reshape(len(sources), ranks, ranks)
        return cls(flow, sources, sums, by_source, usage, joined)

    @property
    def place_count(self) -> int:
        """How many places there are."""
        return int(self.places.max()) + 1

    def prices(self, before: IntArray, after: IntArray) -> IntArray:
        """Return by how much a message from u to v lifts data, shape (n, n).

        What may be in one message is added up, else the most counts.

        `before`, `after`: potentials of the places before and after a step, shape
        (places,).
        """
        total: IntArray = np.zeros(self.joined.shape, dtype=np.int64)
        for start, end, row in self._rises:
            rise = np.maximum(after[end] - before[start], 0)
            lifted = rise.sum(axis=1) if self.flow.same else rise.max(axis=1)
            price = np.zeros_like(total)
            price[self.joined] = lifted[row]
            if self.flow.summed:
                total += self._everywhere(price)
            else:
                total = np.maximum(total, price)
        return total

    @functools.cached_property
    def _rises(self) -> list[tuple[IntArray, IntArray, IntArray]]:
        """For each source what messages may lift, for equal ones once.

        Places before and after, a row for all that may be in a message, and the row of
        the message between each two joined ranks.
        """
        width = self.place_count
        src, dst = np.nonzero(self.joined)
        rises = []
        for source, place in zip(self.sources, self.places, strict=True):
            needed = np.delete(place, source, axis=0).T
            code = np.sort(needed[src] * width + needed[dst], axis=1)
            code, row = np.unique(code, axis=0, return_inverse=True)
            rises.append((code // width, code % width, row.reshape(-1)))
        return rises

    def costs(self, lengths: IntArray) -> IntArray:
        """Return the lengths of all links of each message, shape (n, n)."""
        usages, row = self._usages
        return (usages @ lengths)[row].reshape(self.joined.shape)

    @functools.cached_property
    def _usages(self) -> tuple[IntArray, IntArray]:
        """Links of each group, for equal messages once, and the row of each message."""
        flat = self.usage.reshape(-1, self.usage.shape[2])
        usages, row = np.unique(flat, axis=0, return_inverse=True)
        return usages, row.reshape(-1)

    def _everywhere(self, price: IntArray) -> IntArray:
        """Return the sum of prices over all sources that one stands for."""
        if not len(self.sums):
            return price
        total = np.zeros_like(price)
        for moved in self.sums:
            total[np.ix_(moved, moved)] += price
        return total

    def height(self, first: IntArray, last: IntArray) -> int:
        """Return by how much all data together must be lifted.

        `first`, `last`: potentials before the first step and after the last, shape
        (places,).
        """
        total = 0
        for source, place in zip(self.sources, self.places, strict=True):
            rise = last[np.diagonal(place)] - first[place[:, source]]
            total += int(np.delete(rise, source).sum())
        return total * max(1, len(self.sums))


def _checked_sums(
    shape: tuple[int, ...],
    joined: npt.NDArray[np.bool_],
    usage: IntArray,
) -> IntArray:
    """Return the translations of a box, shape (n, n), or raise `WitnessError`.

    It is enough to look at the steps by one along each digit: others are made of them.
    """
    ranks = len(joined)
    if min(shape) < 1 or int(np.prod(np.array(shape, dtype=object))) != ranks:
        message = f"a box of shape {list(shape)} does not have {ranks} places"
        raise WitnessError(message)
    digit = np.stack(np.unravel_index(np.arange(ranks), shape))
    size = np.array(shape)[:, None, None]
    added = (digit[:, :, None] + digit[:, None, :]) % size
    sums: IntArray = np.ravel_multi_index(tuple(added), shape).astype(np.int64)
    for axis in range(len(shape)):
        unit = tuple(int(one == axis and shape[one] > 1) for one in range(len(shape)))
        moved = sums[np.ravel_multi_index(unit, shape)]
        both = np.ix_(moved, moved)
        alike = (joined[both] == joined).all()
        if not alike or not (usage[both] == usage).all():
            message = "translations of the box change groups of links"
            raise WitnessError(message)
    return sums


BOUND = BoundKind("link-steps", _prove)
