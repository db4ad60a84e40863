"""Planes: steps, configurations and data together, on switches that change alone.

For collectives on parallel optical switches that change independently; no witness is
needed. First, a switch is dark while it changes. Let there be s switches, P steps in
which anything moves, and m_j segments of switch j in which anything does; M is the sum
of the m_j. d0 is the reconfiguration that
a first segment pays for (0 where it is not charged), d that of the others, r the rate
of a circuit, T the completion time.

**Time that is lost.** Steps follow one another. In each, every port spends alpha before
its data, or idles while another does; and the first step begins at d0. So the data of a
port of switch j take at most T - d0 - P alpha. The m_j segments of switch j last alpha
or more each, and it is dark for d between them. So they also take at most
T - d0 - (m_j - 1) d - m_j alpha. All ports of a rank together: if some rank, or the
average rank, sends or receives X bytes,

    s T  >=  sum over j of max(d0 + P alpha, d0 + (m_j - 1) d + m_j alpha)  +  X / r.

For a given M the sum is least where the m_j differ by one at most, as its terms are
convex in m_j; and where M < s, M = s costs no more and allows more.

**Steps that M circuits need.** A rank has at most M circuits out and M in, over all
segments. What it knows reaches at most N(P) = 1 + n_1 + ... + n_P ranks in P steps, by
n_h or fewer ways of h circuits used in order: n_1 = M; and n_h <= M n_(h-1). For n_2
count pairs of segments (a, b) such that a may be used in one step and b in a later one.
On one switch a is b or comes before it, m (m + 1) / 2 pairs. On two switches i and j
there are m_i m_j pairs of which at least one order is possible. Both are possible only
if the first step of each is before the last step of the other; of two such pairs
(a, b') and (a', b), a before a' and b before b' cannot both be, since the last step of
a is no later than the first of a', and that of b no later than that of b'. So these
pairs are a chain, m_i + m_j - 1 at most. The sum over all switches and pairs of them is
largest where as many switches as can be, t = min(s, M), are used:

    n_2  <=  (M^2 + M) / 2 + (t - 1) M - t (t - 1) / 2.

With time reversed the same holds for the ranks that one rank can hear of.

**Sums in few steps.** Where every rank ends with the sum of what all n have: in two
steps n is at most `summed_in_two` of M, in three at most `summed_in_three`; and in four
or fewer, ranks get at least `least_messages` of M messages of the buffer on average.
Their proofs speak of a segment in which a rank hears from at most k others and speaks
to at most k, and of portions, which follow each other. All steps of all switches are
such portions, with k = M.

**All-to-all.** Each byte is received as often as its way has circuits: at least
B / n times the sum over h >= 0 of max(0, n - N(h)) bytes a rank, on average, as for
`hops`.

**Broadcast and reduce.** As for `streams`, with k = M for what holders multiply by, and
for the data of a step its duration less alpha (in the first also less d0): B bytes
take d0 + P alpha + the data time of a stream of P portions.

Besides, where N(L - 1) < n some rank is L circuits or more from the root. What it has
by the end of step u has left the root by the end of step u - L + 1, and all else that
it needs it receives after step u. With T(u) for the data time of the first u steps,

    B / (s r)  <=  T(u - L + 1) + T(P) - T(u).

So any L - 1 steps in a row take e = T(P) - B / (s r) at most. As W = ceil(P / (L - 1))
such rows cover all steps, T(P) <= W e, and T(P) >= (B / (s r)) W / (W - 1). A reduce is
the same backwards.

**Where only changed circuits go dark**, count for each rank and switch. Let m_j be the
circuits into the rank on switch j that are used, one that goes and comes back being
another. Between two of them lies the change that brought the second; it began after the
first was used for the last time, and took d until the second was lit. So the rank
itself loses what is said above, and if it receives X bytes, s T is no less than with
that X. Take a rank for which M, the sum of its m_j, is largest. No rank hears from more
than M others, so a rank hears of at most M^h others by h circuits, and in N(P) n_2 is
M^2. All else stands, but for X: it is what any rank must receive, the least of all;
what ranks receive on average, and the time of a stream, bound T with d0 and P alpha
lost only. The same holds of what ranks send, for data that must reach many; for
all-reduce M is the largest of both.

The bound is the least over all M and P. Values of M are taken in ranges [low, high],
what is lost for `low` and what is gained for `high`, so that there are few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.instances.collectives import op_of
from lightloom.instances.fabrics.ocs import Ocs
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.one_plane import (
    MOST_COUNTED,
    least_messages,
)
from lightloom.validate.certificates.completion_time.requirements import (
    CollectiveNeeds,
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import (
    summed_in_three,
    summed_in_two,
)
from lightloom.validate.certificates.completion_time.streams import Stream
from lightloom.validate.certificates.witness import WitnessError, keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric


@dataclass(frozen=True)
class SwitchTimes:
    """What switches that change alone lose, and how far data get on them.

    `reach`: nodes, itself included, that something one node knows must reach, or that
    one must hear of. `least_bytes`: what every node sends at least, or receives;
    ``None`` where whole switches are dark while they change.
    """

    fabric: Ocs
    reach: int
    least_bytes: int | None

    @property
    def first_ps(self) -> int:
        """Time of the first configuration, d0."""
        charged = self.fabric.initial_configuration_charged
        return self.fabric.reconfiguration_ps if charged else 0

    def lost_ps(self, circuits: int, steps: int) -> int:
        """Return the least time that all switches together lose.

        `circuits`: M, at least as many as there are switches.
        """
        fabric = self.fabric
        segments_each, more = divmod(circuits, fabric.switches)

        def lost(segments: int) -> int:
            between_ps = (segments - 1) * fabric.reconfiguration_ps
            alphas = max(
                steps * fabric.alpha_ps, between_ps + segments * fabric.alpha_ps
            )
            return self.first_ps + alphas

        return more * lost(segments_each + 1) + (fabric.switches - more) * lost(
            segments_each
        )

    def known(self, circuits: int, steps: int) -> int:
        """Return the most nodes that one node's data can be at, N(P), up to `reach`."""
        used = min(self.fabric.switches, circuits)
        ways, total = 1, 1
        for step in range(1, steps + 1):
            if step == 2 and self.least_bytes is None:
                ways = (circuits**2 + circuits) // 2 + (used - 1) * circuits
                ways -= used * (used - 1) // 2
            else:
                ways *= circuits
            total += ways
            if total >= self.reach:
                break
        return total

    def time_ps(self, circuits: int, steps: int, data: Fraction) -> int:
        """Return the least time with so much data of a node on average."""
        lost_ps = self.lost_ps(circuits, steps)
        total = lost_ps + data
        if self.least_bytes is not None:
            total = self.lost_ps(self.fabric.switches, steps) + data
            total = max(total, lost_ps + self.byte_ps * self.least_bytes)
        return ceil(total / self.fabric.switches)

    @property
    def byte_ps(self) -> Fraction:
        """Time of a byte on one circuit."""
        return Fraction(
            BITS_PER_BYTE * PS_PER_S, self.fabric.bits_per_second_per_circuit
        )


_MOST_PIPELINED = 64
"""Steps of a stream looked at one by one; of more the buffer's own time counts."""
_SINGLY = 128
"""Values of M taken one by one; ranges behind them are wider by one part in so many."""


@dataclass(frozen=True)
class Planes(SwitchTimes):
    """A collective on switches, as the bound needs it.

    `collective`: of two ranks or more.
    """

    collective: Collective

    def least_steps(self, circuits: int) -> int:
        """Return the least P with which M circuits reach all that must be reached."""
        steps = 1
        while self.known(circuits, steps) < self.reach:
            steps += 1
        if self.collective.op == "all-reduce":
            ranks = self.collective.rank_count
            if steps == 2 and ranks > summed_in_two(circuits):
                steps = 3
            if steps == 3 and ranks > summed_in_three(circuits):
                steps = 4
        return steps


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    keys(witness)
    if not (isinstance(fabric, Ocs) and isinstance(task, Collective)):
        message = "the kind planes is about collectives on optical switches"
        raise WitnessError(message)
    needs = requirements_of(task, fabric.nodes)
    assert isinstance(needs, CollectiveNeeds)
    reaches = [max(side, default=0) for side in needs.spread()]
    if task.rank_count == 1 or max(reaches) <= 1:
        return 0
    if fabric.dark_while_reconfiguring == "plane":
        return _least_ps(Planes(fabric, max(reaches), None, task), needs)
    nodes = [*task.nodes]
    least = [
        min(moved[node] for node in nodes)
        for moved in (needs.sent_bytes(), needs.received_bytes())
    ]
    if task.op == "all-reduce":
        least = [min(least)] * 2
    return max(
        _least_ps(Planes(fabric, reach, own, task), needs)
        for reach, own in zip(reaches, least, strict=True)
        if reach == max(reaches)
    )


def changing_ps(fabric: Ocs, task: Collective) -> int:
    """Return the least time with more segments in use than there are switches."""
    needs = requirements_of(task, fabric.nodes)
    assert isinstance(needs, CollectiveNeeds)
    reach = max(max(side, default=0) for side in needs.spread())
    planes = Planes(fabric, reach, None, task)
    return _least_ps(planes, needs, fabric.switches + 1)


def _least_ps(planes: Planes, needs: CollectiveNeeds, first: int | None = None) -> int:
    """Return the least over all ranges of M, each with its least over all P.

    M is from `first` on, by default from the number of switches.
    """
    fabric, ranks = planes.fabric, planes.collective.rank_count
    most = max(*needs.sent_bytes(), *needs.received_bytes())
    mean = max(Fraction(needs.volume_bytes(), ranks), Fraction(most))
    plain = planes.byte_ps * mean
    best: int | None = None
    first = first or fabric.switches
    for low, high in _ranges(first, max(first, ranks - 1)):
        fewest = planes.least_steps(high)
        if best is not None and planes.time_ps(low, fewest, plain) >= best:
            if fewest == 1:
                break  # more circuits only lose more
            continue
        least_ps = min(_times(planes, low, high, fewest, plain))
        best = least_ps if best is None else min(best, least_ps)
    assert best is not None
    return best


def _ranges(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of M, single at first, then wider by a fixed share."""
    low = first
    while low <= last:
        high = min(last, low + max(1, (low - first) // _SINGLY) - 1)
        yield low, high
        low = high + 1


def _times(
    planes: Planes,
    low: int,
    high: int,
    fewest: int,
    plain: Fraction,
) -> Iterator[int]:
    """Yield the bound for each number of steps that might have the least one."""
    collective = planes.collective
    switches, ranks = planes.fabric.switches, collective.rank_count
    buffer = collective.buffer_bytes * planes.byte_ps
    op = op_of(collective)

    def time_ps(steps: int, data: Fraction) -> int:
        return planes.time_ps(low, steps, data)

    if collective.op == "all-to-all":
        yield time_ps(fewest, max(plain, buffer / ranks * _hops(planes, high)))
    elif collective.op == "all-reduce":
        for steps in range(fewest, MOST_COUNTED + 1):
            messages = least_messages(high, ranks, steps)
            if messages is not None:
                yield time_ps(steps, max(plain, buffer * messages))
        yield time_ps(max(fewest, MOST_COUNTED + 1), plain)
    elif op.rooted and not op.uses_blocks:
        stream = Stream.of(ranks, high, buffer / switches)
        for steps in range(fewest, _MOST_PIPELINED + 1):
            rows_ps = _rows_ps(planes, high, steps, buffer)
            data_ps = max(stream.data_ps(steps), rows_ps)
            fixed_ps = planes.first_ps + steps * planes.fabric.alpha_ps
            lost = plain
            if planes.least_bytes is None:
                # Rows count what each switch moves, which is less where it changes.
                lost = max(plain, switches * rows_ps)
            yield max(time_ps(steps, lost), fixed_ps + ceil(data_ps))
        yield time_ps(max(fewest, _MOST_PIPELINED + 1), buffer)
    else:
        yield time_ps(fewest, plain)


def _hops(planes: Planes, circuits: int) -> int:
    """Return the least sum of the circuits to all other ranks."""
    total, steps = 0, 0
    while (known := planes.known(circuits, steps)) < planes.reach:
        total += planes.reach - known
        steps += 1
    return total


def _rows_ps(planes: Planes, circuits: int, steps: int, buffer: Fraction) -> Fraction:
    """Return the data time of so many steps, by what rows of them bring nothing new."""
    hops = 0
    while planes.known(circuits, hops) < planes.reach:
        hops += 1
    size_ps = buffer / planes.fabric.switches
    if hops == 1:
        return size_ps
    rows = -(-steps // (hops - 1))
    return size_ps * Fraction(rows, rows - 1) if rows > 1 else size_ps


BOUND = BoundKind("planes", _prove)
