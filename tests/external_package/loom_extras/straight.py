"""An algorithm: everything goes straight, as `direct` does."""

from __future__ import annotations

from lightloom.plans.algorithms import AlgorithmEntry
from lightloom.plans.algorithms.direct import Direct

ALGORITHM = AlgorithmEntry(
    name="straight",
    summary="direct under another name",
    ops=Direct.ops,
    make=Direct,
)
