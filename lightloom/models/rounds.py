"""The model of the rounds of a collective: who sends which chunk when, and how.

Algorithm 1 of the LUMORPH paper, its equations as they must be meant. A round holds
one set of circuits and every circuit carries one chunk. Where the paper has one
variable per round, pair, chunk and path, here what is sent and what is lit are apart,
tied by a sum, which leaves far fewer of them.

Where wavelengths are aggregated, a second model colours the circuits of each round:
equations (4) to (6) with everything but the wavelengths decided.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.gc_manager import PauseGC

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged, column
from lightloom.core.errors import InfeasibleError, InputError
from lightloom.core.schedule import (
    Algorithm,
    Op,
    Schedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.models import ModelSize
from lightloom.models.candidate_routes import (
    candidate_routes,
    check_routes,
    most_routes,
    open_edges,
    route_edges,
)
from lightloom.models.deliveries import copy_question
from lightloom.models.linear_expression import difference, total

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lightloom.core.task import Collective
    from lightloom.instances.fabrics.lightpath import Lightpath
    from lightloom.instances.instance import Instance
    from lightloom.models.candidate_routes import Edge, Pair, Route, Routes
    from lightloom.models.deliveries import Deliveries
    from lightloom.models.linear_expression import Linear, Model, Variable


class Wavelengths(StrEnum):
    """How wavelengths are stated."""

    EXPLICIT = "explicit"
    """Every circuit has one; equations (4) to (6) as corrected."""
    AGGREGATED = "aggregated"
    """Only their number counts: necessary, and sufficient where waveguides abound."""


@dataclass(frozen=True)
class RoundsInput:
    """What a model of this module is about, for its decoder.

    `deliveries`: who has what and who lacks it.
    """

    fabric: Lightpath
    deliveries: Deliveries
    routes: Routes
    wavelengths: Wavelengths


def state_circuits(model: Model, question: RoundsInput) -> None:
    """State the circuits of every round, and what they compete for.

    `model`: has the variables ``send[round, src, dst, chunk]``; gets ``lit[round, src,
    dst, route, wavelength]``, without wavelength where that is aggregated, and the
    constraints of equations (4) to (6).
    """
    fabric, routes = question.fabric, question.routes
    explicit = question.wavelengths is Wavelengths.EXPLICIT
    lasers = fabric.lasers
    colours = [(w,) for w in range(lasers)] if explicit else [()]
    carried = defaultdict(list)
    for key in model.send:
        carried[key[:3]].append(model.send[key])
    # A circuit of an aggregated model stands for any number of wavelengths.
    lit = [
        (*key, i, *colour)
        for key in carried
        for i in range(len(routes[key[1:]]))
        for colour in colours
    ]
    model.lit = pyo.Var(lit, within=pyo.Integers, bounds=(0, 1 if explicit else lasers))
    carriers, out, into, over = (defaultdict(list) for _ in range(4))
    edges = {
        (*pair, i): route_edges(route)
        for pair, options in routes.items()
        for i, route in enumerate(options)
    }
    for key in lit:
        r, src, dst, i, *colour = key
        circuit = model.lit[key]
        carriers[r, src, dst].append(circuit)
        out[(r, src, *colour)].append(circuit)
        into[(r, dst, *colour)].append(circuit)
        for edge in edges[src, dst, i]:
            over[(r, *edge, *colour)].append(circuit)
    model.carry = pyo.Constraint(
        list(carried),
        rule=lambda _, *key: (0, difference(carried[key], carriers[key]), 0),
    )
    each = 1 if explicit else lasers
    waveguides = open_edges(fabric)
    _limit(model, "laser", out, lambda _: each)
    _limit(model, "photodiode", into, lambda _: each)
    # Where an edge has a waveguide for every circuit that may come, nothing is limited.
    scarce = {key: c for key, c in over.items() if len(c) > waveguides[key[1], key[2]]}
    _limit(model, "waveguide", scarce, lambda key: each * waveguides[key[1], key[2]])


def break_symmetry(model: Model, question: RoundsInput, horizon: int) -> None:
    """Pin the receptions of the first node that lacks anything.

    Where nothing is passed on, (round, wavelength) slots can be permuted at will, so
    its k-th reception takes slot k. Elsewhere wavelengths can, within a round.

    `model`: has the variables ``send[round, src, dst, chunk]`` and, from
    `state_circuits` with explicit wavelengths, ``lit[round, src, dst, route,
    wavelength]``; variables are fixed, or constraints added, here. `question`: what the
    model is about; at least one node lacks something.
    """
    deliveries, lasers = question.deliveries, question.fabric.lasers
    node = min(min(nodes) for nodes in deliveries.lacking.values())
    if not deliveries.one_hop:
        lit_at = defaultdict(list)
        for key in model.lit:
            if key[2] == node:
                lit_at[key[0], key[4]].append(model.lit[key])
        model.symmetry = pyo.Constraint(
            [(r, w) for r in range(horizon) for w in range(lasers - 1)],
            rule=lambda _, r, w: (0, difference(lit_at[r, w], lit_at[r, w + 1]), None),
        )
        return
    wanted = sorted(
        (deliveries.holders[chunk][0], chunk)
        for chunk, nodes in deliveries.lacking.items()
        if nodes[0] == node
    )
    slots = {key: divmod(slot, lasers) for slot, key in enumerate(wanted)}
    open_slots = {(src, *slots[src, chunk]) for src, chunk in wanted}
    for key in model.send:
        r, src, dst, chunk = key
        if dst == node and slots[src, chunk][0] != r:
            model.send[key].fix(0)
    for key in model.lit:
        r, src, dst, _, colour = key
        if dst == node and (src, r, colour) not in open_slots:
            model.lit[key].fix(0)


def _limit(
    model: Model,
    name: str,
    circuits: dict[Any, list[Variable]],
    amount: Callable[[Any], int],
) -> None:
    """Add rows: at most `amount` of the circuits of a key in a round that is used."""
    used = getattr(model, "used", None)

    def row(_: Model, *key: int) -> tuple[None, Linear, int]:
        most = amount(key)
        if used is None:
            return None, total(circuits[key]), most
        return None, difference(circuits[key], [used[key[0]]], most), 0

    model.add_component(name, pyo.Constraint(list(circuits), rule=row))


DEFAULT_PATHS = 2
"""Shortest paths a circuit may take: the model grows in proportion."""


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


def rounds_that_suffice(
    fabric: Lightpath, deliveries: Deliveries, routes: Routes
) -> int:
    """Return in how many rounds the collective can surely be done.

    Round by round, every delivery that a sender, a wavelength and a route are free
    for takes the first of them. At least one delivery fits an empty fabric, so this
    ends; deterministic, O(rounds * deliveries * senders * routes * wavelengths).

    `routes`: candidate routes of each pair that may send something, preferred ones
    first.
    """
    has = {chunk: set(nodes) for chunk, nodes in deliveries.holders.items()}
    open_ = [(c, dst) for c, nodes in deliveries.lacking.items() for dst in nodes]
    waveguides = open_edges(fabric)
    rounds = 0
    while open_:
        taken = _Taken(fabric.lasers, waveguides)
        left = []
        brought = []
        for chunk, dst in open_:
            pairs = ((src, dst) for src in sorted(has[chunk]))
            if any(taken.light(pair, routes) for pair in pairs):
                brought.append((chunk, dst))
            else:
                left.append((chunk, dst))
        for chunk, dst in brought:
            has[chunk].add(dst)
        open_ = left
        rounds += 1
    return rounds


class _Taken:
    """What the circuits of one round have taken."""

    def __init__(self, lasers: int, waveguides: dict[Edge, int]) -> None:
        self._lasers = lasers
        self._waveguides = waveguides
        self._ends: set[tuple[str, int, int]] = set()
        self._edges: Counter[tuple[Edge, int]] = Counter()

    def light(self, pair: Pair, routes: Routes) -> bool:
        """Light a circuit between a pair if one is free."""
        src, dst = pair
        for wavelength, edges in self._choices(pair, routes):
            full = any(
                self._edges[edge, wavelength] >= self._waveguides[edge]
                for edge in edges
            )
            if not full:
                self._ends |= {("out", src, wavelength), ("in", dst, wavelength)}
                self._edges.update((edge, wavelength) for edge in edges)
                return True
        return False

    def _choices(self, pair: Pair, routes: Routes) -> Iterator[tuple[int, list[Edge]]]:
        src, dst = pair
        for wavelength in range(self._lasers):
            if {("out", src, wavelength), ("in", dst, wavelength)} & self._ends:
                continue
            for route in routes[pair]:
                yield wavelength, route_edges(route)


@dataclass(frozen=True, eq=False)
class RoundAnswer:
    """One round.

    `transfers`: copies, in nodes, sorted by (src, dst, chunk); neighbouring chunks of a
    pair are one row. `circuits`: as many wavelengths between a pair as it moves chunks,
    rows sorted by (src, dst, route). Where the model aggregates wavelengths,
    ``wavelengths`` is ``None`` and a row stands for one circuit.
    """

    transfers: Transfers
    circuits: Circuits


@dataclass(frozen=True, eq=False)
class RoundsAnswer:
    """A collective in rounds.

    `collective`: the collective, its chunk count chosen. `rounds`: the rounds in which
    anything moves, in order.
    """

    collective: Collective
    rounds: tuple[RoundAnswer, ...]


def decode_rounds(model: Model) -> RoundsAnswer:
    """Return the rounds that the values of a model's variables stand for."""
    question = model.question
    sent: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for (r, *transfer), variable in model.send.items():
        if round(variable.value or 0):
            sent[r].append(tuple(transfer))
    lit: dict[int, list[tuple[int, int, Route, int]]] = defaultdict(list)
    for (r, src, dst, i, *colour), variable in model.lit.items():
        route = question.routes[src, dst][i]
        circuits = round(variable.value or 0)
        lit[r].extend([(src, dst, route, *(colour or [0]))] * circuits)
    explicit = question.wavelengths is Wavelengths.EXPLICIT
    return RoundsAnswer(
        question.deliveries.collective,
        tuple(
            RoundAnswer(
                copies(sent[r]),
                light_paths(lit[r])
                if explicit
                else unlit_paths(row[:3] for row in lit[r]),
            )
            for r in sorted(sent)
        ),
    )


def copies(rows: Iterable[tuple[int, ...]]) -> Transfers:
    """Return (src, dst, chunk) rows as transfers, neighbouring chunks as one row."""
    merged: list[list[int]] = []
    for src, dst, chunk in sorted(rows):
        if merged and merged[-1][:2] == [src, dst] and merged[-1][3] == chunk:
            merged[-1][3] = chunk + 1
        else:
            merged.append([src, dst, chunk, chunk + 1])
    table = np.array(merged, dtype=np.int64).reshape(-1, 4)
    src_, dst_, lo, hi = (np.ascontiguousarray(table[:, i]) for i in range(4))
    return Transfers(src_, dst_, lo, hi, np.full(len(table), int(Op.COPY)))


def unlit_paths(rows: Iterable[tuple[int, int, Route]]) -> Circuits:
    """Return (src, dst, route) rows as circuits that have no wavelength yet."""
    given = sorted(rows)
    return Circuits(
        column(row[0] for row in given),
        column(row[1] for row in given),
        None,
        Ragged.from_lists([row[2] for row in given]),
    )


def light_paths(rows: Iterable[tuple[int, int, Route, int]]) -> Circuits:
    """Return (src, dst, route, wavelength) rows as circuits, one row a route."""
    shared: dict[tuple[int, int, Route], list[int]] = {}
    for src, dst, route, wavelength in sorted(rows):
        shared.setdefault((src, dst, route), []).append(wavelength)
    unlit = unlit_paths(shared)
    wavelengths = Ragged.from_lists(list(shared.values()))
    return Circuits(unlit.src, unlit.dst, wavelengths, unlit.route)


def round_count(answer: RoundsAnswer) -> Fraction:
    """Return the objective of Algorithm 1: the number of rounds."""
    return Fraction(len(answer.rounds))


def rounds_schedule(instance: Instance, answer: RoundsAnswer) -> Schedule:
    """Return an answer as a schedule: one step a round, and one segment.

    A round that keeps the circuits of the one before keeps its segment too, as
    nothing has to be reconfigured.

    Raises `InputError` if the answer's circuits have no wavelengths yet.
    """
    segments: list[Segment] = []
    parts: list[StepPart] = []
    for step, one in enumerate(answer.rounds):
        if one.circuits.wavelengths is None:
            what = "the circuits of an aggregated answer have no wavelengths yet"
            fix = "use the variant wavelengths=explicit"
            raise InputError(what, where="wavelengths", fix=fix)
        if not segments or not segments[-1].circuits.same_as(one.circuits):
            segments.append(Segment(0, len(segments), one.circuits))
        parts.append(StepPart(step, 0, len(segments) - 1, one.transfers))
    return Schedule(
        instance.fabric.table(),
        answer.collective,
        Algorithm("exact"),
        tuple(segments),
        tuple(parts),
    )


def build_colouring(fabric: Lightpath, circuits: Circuits) -> Model:
    """Return the colouring of some circuits as a feasibility model.

    ``colour[k, w]``: circuit k has wavelength w. ``one``: each has one. ``laser``,
    ``photodiode``, ``waveguide``: as in `lightloom.models.rounds`.

    `circuits`: one row a circuit, with routes; their wavelengths are ignored.

    Infeasible means that these routes cannot be lit in one round; others may.
    """
    routes = [tuple(route) for route in circuits.lists("route").to_lists()]
    model = pyo.ConcreteModel("colouring")
    model.question = routes
    colours = range(fabric.lasers)
    model.colour = pyo.Var(range(len(routes)), colours, within=pyo.Binary)
    uses: dict[str, dict[tuple[int, ...], list[Variable]]] = {
        name: defaultdict(list) for name in ("laser", "photodiode", "waveguide")
    }
    for (circuit, w), variable in model.colour.items():
        route = routes[circuit]
        uses["laser"][route[0], w].append(variable)
        uses["photodiode"][route[-1], w].append(variable)
        for edge in route_edges(route):
            uses["waveguide"][(*edge, w)].append(variable)
    waveguides = open_edges(fabric)
    model.one = pyo.Constraint(
        range(len(routes)),
        rule=lambda m, k: (1, total(m.colour[k, w] for w in colours), 1),
    )
    for name, rows in uses.items():
        most = {key: waveguides[key[0], key[1]] if len(key) > 2 else 1 for key in rows}
        tight = [key for key in rows if len(rows[key]) > most[key]]
        row = pyo.Constraint(
            tight,
            rule=lambda _, *key, rows=rows, most=most: (
                None,
                total(rows[key]),
                most[key],
            ),
        )
        model.add_component(name, row)
    model.objective = pyo.Objective(expr=0)
    return model


def decode_colouring(model: Model) -> Circuits:
    """Return the circuits with the wavelengths of the model's values."""
    return light_paths(
        (model.question[k][0], model.question[k][-1], model.question[k], w)
        for (k, w), variable in model.colour.items()
        if round(variable.value or 0)
    )
