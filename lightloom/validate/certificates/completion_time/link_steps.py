"""Link steps: how little data a few steps bring over links, however many there are.

For collectives on packet fabrics but all-to-all. Witness: links in groups (``links``
and ``groups``), some numbers of ``steps`` P_1 < P_2 < ..., and for each as many rows of
``lengths``, one length for each group, and one more rows of ``potentials``; these rows
one after another in a list.

Take one P, and a datum of rank s that rank v needs. After each step it has a potential
in every place: y_0(a), ..., y_P(a), with y_t(a) <= y_(t-1)(a). The last of the copies,
or sums, by which it gets from s to v goes from place to place: in step t it is lifted
from y_(t-1)(a) to at most y_t(b) if a message takes it from a to b, and else by nothing
or less. So all messages that carry it lift it by y_P(v) - y_0(s) together, counting of
each only what is more than nothing.

A message carries the data of one source for all ranks that need them, or where sums
are formed of all sources for all; or only what is for one rank. Whatever a byte of a
message from a to b in step t may carry, it is checked that all of it together is lifted
by no more than the lengths in step t of the links from a to b. In a step whose data
last x, links carry at most x R_t, bits times lengths, R_t the sum of rate times
length. So

    sum of all potentials to be gained  <=  sum over t of x_t R_t  <=  D max R_t

bounds the data time D of schedules of P steps, and so of those of fewer, which are the
same with empty steps. Schedules of one step take what `one_step_ps` says, and others
what P_i says where P_i is the first that is no less than their steps. Those of more
than all take one more at least, and on data what lengths of all links (``all_links``,
``all_lengths``) say, see `link_lengths`; for broadcast and reduce also what
`link_stream` says of so many steps (``out``, ``into``).

Potentials depend on the place alone: how a stands to s and to v, and these to each
other. Pairs of ranks stand alike if their routes have equally many links of each rate;
``classes`` may call more of them alike. Where the translations of a box, ``shape``,
leave links' groups and relations as they are, rank 0 stands for all sources. What
gathers, or reduces, without telling all is the same with time turned around.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lightloom.core.fabric import PacketFabric, step_ps
from lightloom.core.task import Collective
from lightloom.core.units import BITS_PER_BYTE, PS_PER_S
from lightloom.validate.certificates.completion_time.bound_kind import BoundKind
from lightloom.validate.certificates.completion_time.collective_needs import (
    CollectiveNeeds,
)
from lightloom.validate.certificates.completion_time.link_lengths import lengths_ps
from lightloom.validate.certificates.completion_time.link_stream import (
    stream_ps,
    streams,
)
from lightloom.validate.certificates.completion_time.requirements import (
    requirements_of,
)
from lightloom.validate.certificates.completion_time.step_costs import require_carrier
from lightloom.validate.certificates.proofs.link_costs import (
    MOST_LENGTH,
    PairRoutes,
    one_step_ps,
)
from lightloom.validate.certificates.proofs.step_potentials import (
    FLOWS,
    MOST_POTENTIAL,
    Lifts,
    relations,
)
from lightloom.validate.certificates.witness import WitnessError, keys, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.columns import IntArray
    from lightloom.core.task import Task
    from lightloom.instances.instance import AnyFabric

__all__ = ["BOUND", "StepTable"]

_OWN = ("links", "groups", "classes", "shape", "steps", "lengths", "potentials")
_FAR = ("all_links", "all_lengths")
_STREAM = ("out", "into")


@dataclass(frozen=True, eq=False)
class StepTable:
    """Lengths and potentials for one number of steps.

    Attributes
    ----------
    lengths
        Of each group in each step, shape (steps, groups).
    potentials
        Of each place before the first step and after each, shape (steps + 1, places).
    """

    lengths: IntArray
    potentials: IntArray

    def data_ps(self, lifts: Lifts, rate: IntArray, size_bytes: int) -> int:
        """Return the least data time of so many steps, or raise `WitnessError`.

        Parameters
        ----------
        lifts
            Of the collective.
        rate
            Of all links of each group together, as Python integers, shape (groups,).
        size_bytes
            Of what is the data of one source, or for one destination.
        """
        if (self.potentials[1:] > self.potentials[:-1]).any():
            message = "a potential rises where data wait"
            raise WitnessError(message)
        steps = zip(self.lengths, self.potentials, self.potentials[1:], strict=False)
        for length, before, after in steps:
            if (lifts.prices(before, after) > lifts.usage @ length).any():
                message = "a message is lifted by more than the lengths of its links"
                raise WitnessError(message)
        most = max(int(rate @ length.astype(object)) for length in self.lengths)
        lifted = lifts.height(self.potentials[0], self.potentials[-1])
        if lifted <= 0 or not most:
            return 0
        return -(-lifted * size_bytes * BITS_PER_BYTE * PS_PER_S // most)


def _prove(fabric: AnyFabric, task: Task, witness: Witness) -> int:
    require_carrier(fabric)
    stream = streams(task)
    keys(witness, *_OWN, *_FAR, *(_STREAM if stream else ()))
    if not isinstance(fabric, PacketFabric) or not isinstance(task, Collective):
        message = "the kind link-steps is about collectives on packet fabrics"
        raise WitnessError(message)
    if task.op not in FLOWS or task.rank_count < 2:
        message = f"the kind link-steps does not speak of {task.op}"
        raise WitnessError(message)
    needs = requirements_of(task, fabric.node_count)
    assert isinstance(needs, CollectiveNeeds)
    routes = PairRoutes.of(fabric, task.nodes)
    link, group = _groups(witness, routes)
    rate = np.zeros(int(group.max(initial=-1)) + 1, dtype=object)
    np.add.at(rate, group, fabric.link_bits_per_s(link).astype(object))
    lifts = _lifts(fabric, task, routes, witness, link, group)
    base_ps, times = step_ps(fabric), [one_step_ps(fabric, needs)]
    last = 1
    for table in _tables(witness, len(rate), lifts.place_count):
        data_ps = table.data_ps(lifts, rate, needs.collective.chunk_bytes)
        times.append((last + 1) * base_ps + data_ps)
        last = len(table.lengths)
    far_ps = lengths_ps(fabric, needs, routes, witness, _FAR, last + 1)
    if stream:
        far_ps = max(far_ps, stream_ps(fabric, needs, routes, witness, last + 1))
    return min(*times, far_ps)


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
    fabric: PacketFabric,
    task: Collective,
    routes: PairRoutes,
    witness: Witness,
    link: IntArray,
    group: IntArray,
) -> Lifts:
    """Return the data of the task, with the groups and classes of a witness."""
    place = np.minimum(np.searchsorted(link, routes.link), len(link) - 1)
    of_row = np.where(link[place] == routes.link, group[place], -1)
    relation, classes = relations(fabric, routes), rows(witness, "classes", 0)
    if len(classes) != int(relation.max()) + 1:
        message = f"there are {int(relation.max()) + 1} relations to put into classes"
        raise WitnessError(message)
    if classes.min() < 0 or classes.max() >= len(classes):
        message = f"classes are not from 0 to {len(classes) - 1}"
        raise WitnessError(message)
    shape = tuple(rows(witness, "shape", 0).tolist())
    return Lifts.of(task, routes, of_row, classes[relation], shape)


def _tables(witness: Witness, groups: int, places: int) -> Iterator[StepTable]:
    """Yield the tables for ever more steps, or raise `WitnessError`."""
    steps = rows(witness, "steps", 0)
    lengths, potentials = rows(witness, "lengths", 0), rows(witness, "potentials", 0)
    if len(lengths) and (lengths.min() < 0 or lengths.max() > MOST_LENGTH):
        message = f"lengths are not from 0 to {MOST_LENGTH}"
        raise WitnessError(message)
    if len(potentials) and np.abs(potentials).max() > MOST_POTENTIAL:
        message = f"potentials are not from -{MOST_POTENTIAL} to {MOST_POTENTIAL}"
        raise WitnessError(message)
    if (np.diff(steps, prepend=1) < 1).any():
        message = "steps are not ever more from 2 on"
        raise WitnessError(message)
    if (
        len(lengths) != steps.sum() * groups
        or len(potentials) != (steps + 1).sum() * places
    ):
        message = "lengths or potentials are not as many as the steps"
        raise WitnessError(message)
    lengths, potentials = lengths.reshape(-1, groups), potentials.reshape(-1, places)
    for count in steps.tolist():
        yield StepTable(lengths[:count], potentials[: count + 1])
        lengths, potentials = lengths[count:], potentials[count + 1 :]


BOUND = BoundKind("link-steps", _prove)
