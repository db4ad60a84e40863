"""The schedules that compete for an instance, and how they compare."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lightloom.replay import replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from lightloom.core.schedule import ParameterValue
    from lightloom.synth.fabrics.plug import MadeSchedule


@dataclass(frozen=True)
class Candidate:
    """One algorithm in a comparison.

    `algorithm`, `parameters`, `mapping`: what it is; `mapping` is the order of nodes
    that plays its ranks. `predicted_ps`: lower bound on the completion time, before
    anything was realised. `completion_time_ps`: what replay says; ``None`` where the
    prediction alone ruled it out. `reconfigurations`: how often the fabric is
    reconfigured; ``None`` where it was not realised.
    """

    algorithm: str
    parameters: dict[str, ParameterValue]
    mapping: str
    predicted_ps: int
    completion_time_ps: int | None = None
    reconfigurations: int | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from other candidates."""
        return self.algorithm, str(self.parameters), self.mapping

    @property
    def order(self) -> tuple[bool, int]:
        """What is less for a faster candidate, and for one that was realised."""
        time_ps = self.completion_time_ps
        return time_ps is None, time_ps or self.predicted_ps


@dataclass(eq=False)
class CandidatePool:
    """Replays the schedules of candidates, and keeps the fastest.

    The only mutable record of a synthesis: what has been compared so far.

    `progress`: told in words what is being done.
    """

    progress: Callable[[str], None] | None = None
    _candidates: dict[tuple[str, str, str], Candidate] = field(default_factory=dict)
    _best: tuple[Candidate, MadeSchedule] | None = None

    def say(self, text: str) -> None:
        """Tell the user what is being done."""
        if self.progress is not None:
            self.progress(text)

    def pass_over(self, candidate: Candidate) -> None:
        """Record a candidate that is not realised, or cannot be."""
        self._candidates.setdefault(candidate.key, candidate)

    def enter(self, candidate: Candidate, made: MadeSchedule) -> None:
        """Replay a candidate's schedule, and keep it if it is the best so far.

        Of several schedules of a candidate the fastest is compared with others.
        """
        timeline = replay(made.schedule)
        entered = replace(
            candidate,
            completion_time_ps=timeline.completion_time_ps,
            reconfigurations=len(timeline.reconfigurations),
        )
        known = self._candidates.get(entered.key)
        if known is None or entered.order < known.order:
            self._candidates[entered.key] = entered
        best_ps = self.best_ps()
        if best_ps is None or timeline.completion_time_ps < best_ps:
            self._best = (entered, made)

    def best_ps(self) -> int | None:
        """Return the completion time of the best candidate so far, if any."""
        return None if self._best is None else self._best[0].completion_time_ps

    def best(self) -> MadeSchedule:
        """Return the best schedule.

        Raises `RuntimeError`: nothing was entered.
        """
        if self._best is None:
            message = "no candidate has been realised yet"
            raise RuntimeError(message)
        return self._best[1]

    def compared(self) -> tuple[Candidate, ...]:
        """Return the candidates, fastest first, those only predicted last."""
        every = self._candidates.values()
        return tuple(sorted(every, key=lambda one: (*one.order, *one.key)))
