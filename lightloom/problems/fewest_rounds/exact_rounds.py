"""The exact synthesiser: fewest rounds by a solver, from the certified bound upward."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.errors import InputError
from lightloom.core.outcome import Outcome, Reason
from lightloom.core.schedule import Algorithm, Op, Transfers
from lightloom.core.task import Collective
from lightloom.models.candidate_routes import candidate_routes
from lightloom.models.deliveries import copy_question
from lightloom.models.rounds import (
    DEFAULT_PATHS,
    RoundAnswer,
    RoundsAnswer,
    RoundsObjective,
    Wavelengths,
    build,
    build_colouring,
    decode_colouring,
    decode_rounds,
    rounds_schedule,
    rounds_that_suffice,
)
from lightloom.problems.fewest_rounds.round_bounds import RoundBound, round_bound
from lightloom.solvers import SolveOptions, build_and_run
from lightloom.synth.publish import signed

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.columns import FloatArray
    from lightloom.core.schedule import SealedSchedule
    from lightloom.instances.instance import Instance
    from lightloom.models.linear_expression import Model


NAME = "exact"
_EXTRA: dict[str, dict[str, int]] = {"cp-sat": {"linearization_level": 0}}
"""Where any answer will do, CP-SAT is 10 to 60 times faster without its relaxation."""
_HAS_POINT = (Reason.PROVEN_OPTIMAL, Reason.STOPPED_WITH_ANSWER)


@dataclass(frozen=True)
class Trial:
    """One horizon that was tried.

    `wall_s`: seconds it took, model building included.
    """

    rounds: int
    reason: Reason
    wall_s: float


@dataclass(frozen=True, eq=False)
class Exact:
    """A schedule in few rounds.

    `rounds`: rounds, each with one set of circuits. `bound`: no schedule with one chunk
    a circuit and round has fewer rounds than this.
    """

    schedule: SealedSchedule
    rounds: int
    bound: RoundBound
    trials: tuple[Trial, ...]


def fewest_rounds(
    instance: Instance,
    *,
    solver: str = "highs",
    options: SolveOptions | None = None,
    horizon: int | None = None,
    paths: int = DEFAULT_PATHS,
    wavelengths: str = Wavelengths.EXPLICIT,
    pinned: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Outcome[Exact]:
    """Return a schedule with the fewest rounds, every circuit one chunk a round.

    Horizons are tried from the bound of `round_bound` upward, each as a question of
    feasibility. Operations that reduce are reversals: a reduce-scatter is an
    all-gather with time and arcs turned around, a reduce a broadcast, and the fewest
    rounds are the same; an all-reduce is a reduce-scatter and then the all-gather it
    was made from, which need not be the fewest.

    `solver`, `options`: a solver of `lightloom.solvers`. The time limit is for all
    horizons together, other limits for each. `wavelengths`: ``explicit``, or
    ``aggregated``: first without wavelengths, then coloured, and asked again explicitly
    where that fails.

    Returns outcome in rounds. *Proven optimal*: the rounds meet the certified bound, or
    the solver says that fewer are not possible and every simple route was a candidate.
    *Proven infeasible*: not possible in `horizon` rounds on the candidate routes.

    Raises `InputError` if the instance is not of this kind, or an argument is out of
    its domain; `InfeasibleError` if nothing can be sent at all.
    """
    search = _Search(instance, solver, options or SolveOptions(), paths)
    least = search.phase_bound
    most = rounds_that_suffice(search.fabric, search.deliveries, search.routes)
    first, last = (least.rounds, most) if horizon is None else (horizon, horizon)
    if first < least.rounds:
        said = f"at least {least.rounds} rounds ({least.kind}): {least.reason}"
        return Outcome(
            Reason.PROVEN_INFEASIBLE, None, None, least.rounds, None, None, (said,)
        )
    for rounds in range(first, last + 1):
        if progress is not None:
            progress(f"{solver}: is there an answer in {rounds} rounds?")
        answer = search.attempt(rounds, wavelengths, pinned=pinned)
        if answer is not None:
            return _found(search, answer)
        if search.trials[-1].reason is not Reason.PROVEN_INFEASIBLE:
            break
    return _not_found(search)


def _found(search: _Search, answer: RoundsAnswer) -> Outcome[Exact]:
    """Return the outcome of a search that ended with an answer."""
    whole = completed(answer, search.collective)
    schedule = replace(
        rounds_schedule(search.instance, whole),
        algorithm=Algorithm(
            NAME,
            {"solver": search.solver, "paths": search.paths},
            search.options.seed,
        ),
    )
    rounds = len(whole.rounds)
    certificates = [search.whole_bound.certificate]
    signed_ = signed(schedule, search.instance, certificates)
    exact = Exact(signed_, rounds, search.bound, tuple(search.trials))
    proven = rounds == search.bound.rounds or search.proves(rounds)
    run_ = search.last_run
    return Outcome(
        Reason.PROVEN_OPTIMAL if proven else Reason.STOPPED_WITH_ANSWER,
        exact,
        rounds,
        rounds if proven else search.bound.rounds,
        None,
        None if run_ is None else run_.provenance,
        _said(search),
    )


def _not_found(search: _Search) -> Outcome[Exact]:
    """Return the outcome of a search that ended without an answer."""
    run_, bound = search.last_run, search.phase_bound.rounds
    assert run_ is not None
    return Outcome(
        search.trials[-1].reason,
        None,
        None,
        bound,
        run_.limit,
        run_.provenance,
        (*run_.detail, *_said(search)),
    )


def _said(search: _Search) -> tuple[str, ...]:
    """Return what each horizon came to, and the bound."""
    bound = search.bound
    return (
        *(
            f"{trial.rounds} rounds, in {trial.wall_s:.2f} s: "
            + (
                "an answer"
                if trial.reason in _HAS_POINT
                else f"{trial.reason} on the candidate routes"
            )
            for trial in search.trials
        ),
        f"at least {bound.rounds} rounds on any routes ({bound.kind}): {bound.reason}",
    )


@dataclass(eq=False)
class _Search:
    """The question of a search, and what has been tried; no other record of it."""

    instance: Instance
    solver: str
    options: SolveOptions
    paths: int
    trials: list[Trial] = field(default_factory=list)
    last_run: Outcome[FloatArray] | None = None
    start: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        task = self.instance.task
        if not isinstance(task, Collective):
            what = "the exact synthesiser moves chunks of a collective"
            raise InputError(what, where=self.instance.name, fix="give a [collective]")
        self.copying = replace(self.instance, task=copying(task))
        self.fabric, self.deliveries = copy_question(self.copying)
        self.collective = msgspec.structs.replace(
            task, chunks=self.deliveries.collective.chunks
        )
        self.routes = candidate_routes(self.fabric, self.deliveries.pairs(), self.paths)
        # What is reversed needs as many rounds as what it is the reversal of.
        self.phase_bound = round_bound(self.fabric, self.deliveries.collective)
        # Only the witness of the collective itself can be checked on its schedule.
        self.whole_bound = round_bound(self.fabric, self.collective)
        bounds = (self.whole_bound, self.phase_bound)
        self.bound = max(bounds, key=lambda bound: bound.rounds)
        if task.op != ALL_REDUCE:
            self.phase_bound = self.bound

    def attempt(
        self, horizon: int, wavelengths: str, *, pinned: bool
    ) -> RoundsAnswer | None:
        """Return an answer within `horizon` rounds, or ``None``; note the trial."""
        start = time.monotonic()
        answer = None
        if wavelengths == Wavelengths.AGGREGATED:
            reason, answer = self._ask(horizon, wavelengths, pinned=pinned)
            answer = answer and self._coloured(answer)
        if answer is None and (
            wavelengths != Wavelengths.AGGREGATED or reason in _HAS_POINT
        ):
            reason, answer = self._ask(horizon, Wavelengths.EXPLICIT, pinned=pinned)
        self.trials.append(Trial(horizon, reason, time.monotonic() - start))
        return answer

    def _ask(
        self, horizon: int, wavelengths: str, *, pinned: bool
    ) -> tuple[Reason, RoundsAnswer | None]:
        model, reason = self._run(
            lambda: build(
                self.copying,
                horizon=horizon,
                objective=RoundsObjective.FEASIBILITY,
                wavelengths=wavelengths,
                paths=self.routes,
                pinned=pinned,
            )
        )
        return reason, decode_rounds(model) if reason in _HAS_POINT else None

    def _run(self, make: Callable[[], Model]) -> tuple[Model, Reason]:
        """Build a model and solve it within what is left of the time limit."""
        options, limit = self.options, self.options.time_limit_s
        extra = {**_EXTRA.get(self.solver, {}), **options.extra}
        options = replace(options, extra=extra)
        if limit is not None:
            spent = time.monotonic() - self.start
            options = replace(options, time_limit_s=max(0.0, limit - spent))
        model, self.last_run = build_and_run(make, self.solver, options)
        return model, self.last_run.reason

    def _coloured(self, answer: RoundsAnswer) -> RoundsAnswer | None:
        """Return an answer with wavelengths, ``None`` where a round has none."""
        rounds = []
        for one in answer.rounds:
            model, reason = self._run(
                partial(build_colouring, self.fabric, one.circuits)
            )
            if reason not in _HAS_POINT:
                return None
            rounds.append(RoundAnswer(one.transfers, decode_colouring(model)))
        return RoundsAnswer(answer.collective, tuple(rounds))

    def proves(self, rounds: int) -> bool:
        """Return whether the trials leave no fewer rounds, on any routes at all.

        So it is where all fewer rounds from the bound up were found infeasible and
        no pair has a simple route that was not a candidate; and not for all-reduce,
        whose two phases need not be the best.
        """
        tried = [
            trial.rounds
            for trial in self.trials
            if trial.reason is Reason.PROVEN_INFEASIBLE
        ]
        if self.collective.op == ALL_REDUCE:
            return False
        if tried != list(range(self.bound.rounds, rounds)):
            return False
        more = candidate_routes(self.fabric, list(self.routes), self.paths + 1)
        return all(len(routes) <= self.paths for routes in more.values())


ALL_REDUCE = "all-reduce"
_REVERSAL_OF = {
    ALL_REDUCE: "all-gather",
    "reduce": "broadcast",
    "reduce-scatter": "all-gather",
}


def copying(collective: Collective) -> Collective:
    """Return the copying collective that answers this one: itself, or its reversal."""
    op = _REVERSAL_OF.get(collective.op, collective.op)
    return msgspec.structs.replace(collective, op=op)


def completed(answer: RoundsAnswer, collective: Collective) -> RoundsAnswer:
    """Return an answer of `copying(collective)` as one of the collective.

    In rounds that copy, each node receives a chunk it lacks once, so its routes form
    a tree from the holder. Turned around they lead to the holder, and every node
    passes on once, after all that came to it: with *reduce* it adds up. An
    all-reduce goes up and down the tree.
    """
    if collective.op not in _REVERSAL_OF:
        return RoundsAnswer(collective, answer.rounds)
    rounds = tuple(_reversed(one) for one in reversed(answer.rounds))
    if collective.op == ALL_REDUCE:
        rounds += answer.rounds
    return RoundsAnswer(collective, rounds)


def _reversed(one: RoundAnswer) -> RoundAnswer:
    """Return a round with every transfer and circuit turned around, sorted again."""
    moved = one.transfers
    order = np.lexsort((moved.chunk_lo, moved.src, moved.dst))
    transfers = Transfers(
        moved.dst[order],
        moved.src[order],
        moved.chunk_lo[order],
        moved.chunk_hi[order],
        np.full(len(order), int(Op.REDUCE)),
    )
    return replace(one, transfers=transfers, circuits=_turned(one.circuits))


def _turned(circuits: Circuits) -> Circuits:
    """Return circuits from their destinations to their sources, sorted again."""
    routes = [route[::-1] for route in circuits.lists("route").to_lists()]
    rows = sorted(
        range(len(routes)),
        key=lambda row: (routes[row][0], routes[row][-1], routes[row]),
    )
    order = np.array(rows, dtype=np.int64)
    return Circuits(
        circuits.dst[order],
        circuits.src[order],
        circuits.lists("wavelengths").take(order),
        Ragged.from_lists(routes).take(order),
    )
