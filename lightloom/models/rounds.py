"""The model of the rounds of a collective: who sends which chunk when, and how.

Algorithm 1 of the LUMORPH paper, its equations as they must be meant. A round holds
one set of circuits and every circuit carries one chunk. Where the paper has one
variable per round, pair, chunk and path, here what is sent and what is lit are apart,
tied by a sum, which leaves far fewer of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from enum import StrEnum
from typing import TYPE_CHECKING

import pyomo.environ as pyo
from pyomo.common.gc_manager import PauseGC

from lightloom.core.errors import InfeasibleError, InputError
from lightloom.models import ModelSize
from lightloom.models.candidate_routes import (
    candidate_routes,
    check_routes,
    most_routes,
    open_edges,
)
from lightloom.models.deliveries import copy_question
from lightloom.models.horizon import rounds_that_suffice
from lightloom.models.linear_expression import difference, total
from lightloom.models.rounds_circuits import (
    RoundsInput,
    Wavelengths,
    break_symmetry,
    state_circuits,
)

if TYPE_CHECKING:
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.instances.instance import Instance
    from lightloom.models.candidate_routes import Pair, Routes
    from lightloom.models.deliveries import Deliveries
    from lightloom.models.linear_expression import Linear, Model

DEFAULT_PATHS = 2


class RoundsObjective(StrEnum):
    """What is asked of the rounds."""

    ROUNDS = "rounds"
    """As few rounds as possible, at most the horizon (the printed objective)."""
    FEASIBILITY = "feasibility"
    """Any answer within the horizon."""


def build(
    instance: Instance,
    *,
    horizon: int | None = None,
    least: int = 0,
    objective: str = RoundsObjective.ROUNDS,
    wavelengths: str = Wavelengths.EXPLICIT,
    paths: int | Routes = DEFAULT_PATHS,
    pinned: bool = False,
) -> Model:
    """Return Algorithm 1 for an instance as a Pyomo model.

    With r a round, c a chunk, i a candidate route and w a wavelength:

    - ``send[r, s, d, c]``: s sends c to d. ``lit[r, s, d, i, w]``: a circuit; without
      w, and counting circuits, where wavelengths are aggregated. ``has[r, s, c]``:
      s received c before round r. ``used[r]``: the round takes place.
    - ``carry``: as many circuits as chunks between a pair, so a chunk takes one of
      its paths, whole (1).
    - ``hold``, ``held``: a node that lacks a chunk sends it on only in rounds after
      the one that brought it. Printed, (2) asks this of the first holders too, who
      could then never begin.
    - ``receive``: each node that lacks a chunk and must have it receives it once,
      and nobody else does. Printed, (3) asks for one delivery of a chunk in all.
    - ``laser``, ``photodiode``: at most one circuit each; (4), (5) print ``= 1``,
      which no idle laser satisfies.
    - ``waveguide``: an edge carries a wavelength at most once a waveguide (6).
    - ``prefix``, ``used``: rounds in use come first, `least` of them at any rate (7)
      to (9); a round without use has no circuits, as its lasers' limit says.

    `instance`: a copying collective on a LIGHTPATH fabric: all-gather, all-to-all,
    broadcast, scatter, gather. Chunks default to the fewest possible. `horizon`: rounds
    there may be; as many as a greedy schedule on the candidate routes needs where
    ``None``, so that there is an answer. `least`: rounds there are at least
    (``R_min``), of an objective that counts them. `paths`: candidate routes of every
    pair, or how many shortest ones to take. What is optimal or infeasible is so on
    these; other routes may do better. `pinned`: break symmetry: pin the receptions of
    one node to wavelengths in order, and where nothing is passed on to rounds too, as
    those can be permuted freely. Only where wavelengths are explicit.

    Raises `InputError` if the instance is of another problem, or a variant does not
    exist; `InfeasibleError` if there are no lasers or no rounds, or a pair has no
    route.

    Deterministic; time and memory grow with rounds * pairs * (chunks + routes *
    wavelengths).
    """
    goal, stated = _variant(objective, wavelengths)
    fabric, deliveries = copy_question(instance)
    pairs = deliveries.pairs()
    routes = _routes(fabric, pairs, paths)
    if horizon is None:
        horizon = max(least, rounds_that_suffice(fabric, deliveries, routes))
    if not 0 <= least <= horizon:
        what, allowed = "invalid least number of rounds", f"0 to {horizon}"
        raise InputError(what, where="least", found=least, allowed=allowed)
    if horizon < bool(deliveries.lacking):
        what = "there is something to send, and no round to send it in"
        raise InfeasibleError(what, where="horizon", found=horizon)
    model = pyo.ConcreteModel("rounds")
    model.question = RoundsInput(fabric, deliveries, routes, stated)
    with PauseGC():
        if goal is RoundsObjective.ROUNDS:
            _state_use(model, horizon, least)
        else:
            model.objective = pyo.Objective(expr=0)
        _state_sends(model, deliveries, horizon)
        state_circuits(model, model.question)
        if pinned and deliveries.lacking and stated is Wavelengths.EXPLICIT:
            break_symmetry(model, model.question, horizon)
    return model


def _state_use(model: Model, horizon: int, least: int) -> None:
    """State which rounds take place: a prefix, as short as possible."""
    model.used = pyo.Var(range(horizon), within=pyo.Binary)
    for r in range(least):
        model.used[r].fix(1)
    model.prefix = pyo.Constraint(
        range(1, horizon), rule=lambda m, r: m.used[r] <= m.used[r - 1]
    )
    model.objective = pyo.Objective(expr=total(model.used.values()))


def _state_sends(model: Model, deliveries: Deliveries, horizon: int) -> None:
    """State what is sent when, and that a sender has it by then."""
    rounds = range(horizon)
    passing = [
        (node, chunk)
        for chunk, nodes in deliveries.lacking.items()
        for node in nodes
        if len(nodes) > 1
    ]
    sends = [
        (r, src, dst, chunk)
        for r in rounds
        for chunk, lacking in deliveries.lacking.items()
        for src in deliveries.senders(chunk)
        if r or src in deliveries.holders[chunk]
        for dst in lacking
        if src != dst
    ]
    model.send = pyo.Var(sends, within=pyo.Binary)
    send = model.send
    received = defaultdict(list)
    arrivals = defaultdict(list)
    for r, src, dst, chunk in sends:
        received[dst, chunk].append(send[r, src, dst, chunk])
        arrivals[r, dst, chunk].append(send[r, src, dst, chunk])
    model.receive = pyo.Constraint(
        list(received), rule=lambda _, *key: (1, total(received[key]), 1)
    )
    model.has = pyo.Var(
        [(r, *key) for r in range(1, horizon) for key in passing], within=pyo.Binary
    )
    has = model.has

    def held(_: Model, r: int, node: int, chunk: int) -> tuple[int, Linear, int]:
        before = [has[r - 1, node, chunk]] if r > 1 else []
        return (
            0,
            difference([*before, *arrivals[r - 1, node, chunk]], [has[r, node, chunk]]),
            0,
        )

    model.held = pyo.Constraint(list(has), rule=held)
    model.hold = pyo.Constraint(
        [key for key in sends if (key[0], key[1], key[3]) in has],
        rule=lambda _, r, src, dst, chunk: (
            None,
            difference([send[r, src, dst, chunk]], [has[r, src, chunk]]),
            0,
        ),
    )


def _variant(objective: str, wavelengths: str) -> tuple[RoundsObjective, Wavelengths]:
    """Return the variant, or raise `InputError`."""
    for where, found, kind in (
        ("objective", objective, RoundsObjective),
        ("wavelengths", wavelengths, Wavelengths),
    ):
        if found not in list(kind):
            allowed = ", ".join(kind)
            raise InputError(
                "unknown variant", where=where, found=found, allowed=allowed
            )
    return RoundsObjective(objective), Wavelengths(wavelengths)


def _routes(fabric: Lightpath, pairs: list[Pair], paths: int | Routes) -> Routes:
    """Return the candidate routes of the pairs."""
    if isinstance(paths, int):
        return candidate_routes(fabric, pairs, paths)
    return check_routes(paths, pairs, open_edges(fabric))


def size(
    instance: Instance,
    *,
    horizon: int | None = None,
    wavelengths: str = Wavelengths.EXPLICIT,
    paths: int | Routes = DEFAULT_PATHS,
    **_: object,
) -> ModelSize:
    """Return the size that `build` would give a model, estimated from above.

    Routes count as long as the sides of the grid and some detour; where `horizon` is
    ``None``, rounds are guessed: twice what one node's receptions need.

    Raises `InputError` if it is of another one.
    """
    fabric, deliveries = copy_question(instance)
    lacking = list(deliveries.lacking.values())
    received = Counter(node for nodes in lacking for node in nodes)
    most = -(-max(received.values(), default=0) // max(fabric.lasers, 1))
    rounds = 2 * most if horizon is None else horizon
    offers = sum(
        len(nodes) * (len(nodes) + len(deliveries.holders[chunk]))
        for chunk, nodes in deliveries.lacking.items()
    )
    sends = rounds * offers
    # Counting the pairs exactly would take as long as building the model.
    members = deliveries.collective.rank_count
    pairs = min(offers, members * (members - 1))
    has = 0 if deliveries.one_hop else rounds * received.total()
    colours = fabric.lasers if wavelengths == Wavelengths.EXPLICIT else 1
    options = most_routes(paths)
    carried = rounds * pairs
    lit = carried * options * colours
    edges = len(open_edges(fabric))
    limits = rounds * colours * (2 * fabric.node_count + edges)
    hops = min(fabric.node_count - 1, fabric.rows + fabric.cols + 2 * options)
    # Every circuit is carried, has two ends, and at one end is pinned against another.
    return ModelSize(
        rows=sends + has + received.total() + carried + limits + rounds * (1 + colours),
        columns=sends + has + lit + rounds,
        nonzeros=5 * sends + 2 * has + lit * (5 + hops) + limits + 2 * rounds,
        instead="`lightloom synth` with --algorithm auto",
    )
