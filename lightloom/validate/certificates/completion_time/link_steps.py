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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S, transmission_ps
from lightloom.instances.fabrics.sipac import Sipac
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.link_stream import (
    stream_ps,
    streams,
)
from lightloom.validate.certificates.completion_time.message_costs import (
    MOST_LENGTH,
    PairRoutes,
    lengths_ps,
    one_step_ps,
)
from lightloom.validate.certificates.completion_time.requirements import (
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    fixed_ps,
    require_carrier,
)
from lightloom.validate.certificates.proofs.step_potentials import (
    FLOWS,
    MOST_POTENTIAL,
    Lifts,
    Ways,
)
from lightloom.validate.certificates.witness import WitnessError, keys, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

_OWN = ("links", "groups", "places", "shape", "times", "lengths", "potentials")
_MOST_STEPS = 2**10
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
        return -(-lifted * size_bytes * BITS_PER_BYTE * PS_PER_S // most)

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
    link, group = rows(witness, "links", 0), rows(witness, "groups", 0)
    if len(link) != len(group) or not len(link):
        message = "links and groups are not equally many, or none"
        raise WitnessError(message)
    order = np.argsort(link, kind="stable")
    link, group = link[order], group[order]
    if (link[1:] == link[:-1]).any() or not np.isin(link, routes.link).all():
        message = "links names a link twice, or one that no route uses"
        raise WitnessError(message)
    if group.min() < 0 or group.max() >= len(link):
        message = f"groups are not from 0 to {len(link) - 1}"
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
    lengths, potentials = rows(witness, "lengths", 0), rows(witness, "potentials", 0)
    if len(lengths) and (lengths.min() < 0 or lengths.max() > MOST_LENGTH):
        message = f"lengths are not from 0 to {MOST_LENGTH}"
        raise WitnessError(message)
    if len(potentials) and np.abs(potentials).max() > MOST_POTENTIAL:
        message = f"potentials are not from -{MOST_POTENTIAL} to {MOST_POTENTIAL}"
        raise WitnessError(message)
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


BOUND = BoundKind("link-steps", _prove)
