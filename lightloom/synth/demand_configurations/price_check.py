"""Whether lines can be served in fractions: prices of units that say they cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lightloom.synth.demand_configurations.line_check import LineCheck
from lightloom.synth.demand_configurations.nested_options import nested_options

if TYPE_CHECKING:
    from lightloom.core.columns import FloatArray

_TURNS = 120
"""Times that prices change, at most."""
_NEAR = 1.004
"""Units used over units there are, up to which a line counts as served."""
_NEAR_AT_LAST = 1.008
"""The same after the last turn, when prices may still change."""
_RISE = 1.5
"""How fast prices follow the load: the first step, in logarithms."""


class PriceCheck(LineCheck):
    """Tests lines against durations of many configurations, those that failed first.

    The units of the longest one, two, three ... configurations have a price, and every
    pair takes the cheapest of its options. Where all together cost more than all units
    of the line, it cannot be served; else what the pairs take on average shows that it
    can, in fractions.

    `chosen`: the lines that are looked at.
    """

    def _fits(self, need: FloatArray, room: int, durations: FloatArray) -> bool:
        """Return whether units are enough, as far as prices say."""
        units = self._lines.most_units
        options, waste = nested_options(need, durations, units)
        possible = np.isfinite(waste)
        self.work += options.size * 4
        if not possible.any(axis=1).all():
            return False
        flat = np.cumsum(options, axis=2).astype(np.float64)
        barred = np.where(possible, 0.0, np.inf)
        row, count = np.arange(len(need)), len(durations)
        most = room * np.arange(1.0, count + 1)
        # What a unit costs falls with its duration, in the beginning as fast.
        price = np.maximum(-np.diff(durations, append=0), 1e-3 * durations[0] / count)
        price /= price @ most
        taken, since = np.zeros(count), 0
        for turn in range(1, _TURNS + 1):
            cost = flat @ price + barred
            best = cost.argmin(axis=1)
            self.work += options.size
            if cost[row, best].sum() > 1 + 1e-9:
                return False
            load = flat[row, best].sum(axis=0)
            if turn & (turn - 1) == 0:  # prices have settled since
                taken, since = np.zeros(count), 0
            taken, since = taken + load, since + 1
            if (taken <= most * (since * _NEAR)).all():
                return True
            price = price * np.exp((load / most - 1) * _RISE / (1 + turn) ** 0.5)
            price /= price @ most
        return bool((taken <= most * (since * _NEAR_AT_LAST)).all())
