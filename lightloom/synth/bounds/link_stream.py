"""The search for the links that a broadcast or a reduce must share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.bounds.link_prices import LinkQuestion
from lightloom.validate.certificates.completion_time.link_stream import (
    stream_ps,
    streams,
)
from lightloom.validate.certificates.completion_time.message_costs import free_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.certificate import Witness
    from lightloom.core.fabric import PacketFabric
    from lightloom.core.task import Collective
    from lightloom.validate.certificates.completion_time.requirements import Mask


def stream_witness(fabric: PacketFabric, task: Collective) -> Witness | None:
    """Return the best pair of links into groups and out of the root's."""
    question = LinkQuestion.of(fabric, task) if streams(task) else None
    if question is None:
        return None
    tried = [
        (
            stream_ps(fabric, question.needs, question.routes, witness, 2),
            -place,
            witness,
        )
        for place, witness in enumerate(_witnesses(question))
    ]
    return max(tried, key=lambda one: one[:2])[2] if tried else None


def _witnesses(question: LinkQuestion) -> Iterator[Witness]:
    """Yield the links into groups by links of one kind, with those out of the root's.

    A reduce is a broadcast with all messages turned around.
    """
    if question.needs.reduces:
        question = question.turned()
    root = question.needs.collective.root_rank
    seen: set[bytes] = set()
    for kind in range(-1, int(question.kind.max()) + 1):
        some = (question.kind == kind) | (kind < 0)
        group = free_groups(question.crossed(some))
        inside = group == group[root]
        if group.tobytes() in seen or inside.all():
            continue
        seen.add(group.tobytes())
        into = needed_links(question, some, (group[:, None] != group) & ~inside)
        out = needed_links(question, some, inside[:, None] & ~inside)
        if into is None or out is None:
            continue
        yield {
            "out": question.links[out].tolist(),
            "into": question.links[into].tolist(),
        }


def needed_links(question: LinkQuestion, some: Mask, pairs: Mask) -> Mask | None:
    """Return few of some links such that messages of all these pairs cross one.

    Classes of links are left out while that holds, in two orders: the least used for
    their rate first, or the largest.

    `some`: the links that may be chosen, shape (links,). `pairs`: the messages that
    count, shape (n, n).

    Returns shape (links,); ``None`` where even all the links are too few.
    """
    crossed, wanted = question.crossed(some).reshape(-1), pairs.reshape(-1)
    if not crossed[wanted].all():
        return None
    used = wanted[question.routes.pair].astype(np.int64)
    load = np.bincount(question.place, used, len(question.links))
    worth = np.bincount(question.number, load * some) / question.rates
    found: list[tuple[float, Mask]] = []
    for order in (worth, -question.rates):
        kept, left = some, crossed.copy()
        for number in np.argsort(order, kind="stable").tolist():
            rows = question.class_rows[number]
            rows = rows[some[question.place[rows]]]
            pair, times = np.unique(question.routes.pair[rows], return_counts=True)
            if (left[pair] > times)[wanted[pair]].all():
                left[pair] -= times
                kept = kept & (question.number != number)
        rate = float(question.rates[np.unique(question.number[kept])].sum())
        found.append((rate, kept))
    return min(found, key=lambda one: one[0])[1]
