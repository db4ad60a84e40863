"""Whether one line can be served with given durations, exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.demand_configurations.options import options_of

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray
    from lightloom.synth.demand_configurations.lines import Lines


class LineCheck:
    """Tests lines against durations, those that failed last first.

    `chosen`: the lines that are looked at.
    """

    def __init__(self, lines: Lines, chosen: list[int]) -> None:
        self._lines = lines
        self._chosen = list(chosen)
        self.work = 0

    def passes(self, durations: FloatArray) -> bool:
        """Return whether every chosen line can be served."""
        for place, line in enumerate(self._chosen):
            if not self._served(line, durations):
                self._chosen.insert(0, self._chosen.pop(place))
                return False
        return True

    def _served(self, line: int, durations: FloatArray) -> bool:
        """Return whether a line can be served."""
        room = int(self._lines.capacity[line])
        need = self._lines.need[self._lines.members[line]]
        count = len(durations)
        if need.sum() > room * durations.sum() or len(need) > room * count:
            return False
        return not len(need) or self._fits(need, room, durations)

    def _fits(self, need: FloatArray, room: int, durations: FloatArray) -> bool:
        """Return whether units are enough: a program over those that are used.

        ``least[a]`` is the fewest units of the last configuration with which the
        pairs so far take at most a_k units of each other one.
        """
        none, count = room + 1, len(durations)
        least = np.full((room + 1,) * (count - 1), none, dtype=np.int64)
        least[(0,) * (count - 1)] = 0
        for each in need.tolist():
            options = options_of(each, durations, room)
            self.work += len(options) * least.size + 1000
            after = np.full_like(least, none)
            for option in options.tolist():
                *used, last = option
                target = tuple(slice(taken, None) for taken in used)
                source = tuple(slice(0, room + 1 - taken) for taken in used)
                np.minimum(after[target], least[source] + last, out=after[target])
            least = after
            if int(least.min()) > room:
                return False
        return True
