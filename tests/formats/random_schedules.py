"""Random schedules of every shape the records allow, sensible or not."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from lightloom.core.certificate import COMPLETION_TIME, Certificate
from lightloom.core.circuit import Circuits
from lightloom.core.columns import Ragged
from lightloom.core.schedule import (
    Algorithm,
    FluidTransfers,
    Footer,
    SealedSchedule,
    Segment,
    StepPart,
    Transfers,
)
from lightloom.core.task import Collective, Demand

if TYPE_CHECKING:
    from lightloom.core.columns import IntArray

int64 = st.integers(-(2**63), 2**63 - 1)
small = st.integers(-3, 300)
values = small | int64
counts = st.integers(0, 9) | st.integers(0, 2**63 - 1)
names = st.text(max_size=8)
tables = st.dictionaries(names, values | names | st.booleans(), max_size=4)
parameters = st.dictionaries(
    names,
    values
    | names
    | st.booleans()
    | st.lists(values, max_size=3)
    | st.lists(names, max_size=3),
    max_size=4,
)
tasks = st.builds(
    Collective,
    op=names,
    nodes=st.lists(values, max_size=4).map(tuple),
    buffer_bytes=values,
    chunks=st.none() | values,
    root=st.none() | values,
) | st.lists(st.tuples(values, values, values), max_size=4).map(
    lambda rows: Demand(*(tuple(row[place] for row in rows) for place in range(3)))
)
certificates = st.builds(
    Certificate,
    objective=st.just(COMPLETION_TIME),
    kind=names,
    bound=values,
    value=st.none() | values,
    witness=st.dictionaries(names, values | st.lists(values, max_size=3), max_size=3),
)
numbers = values | st.builds(Fraction, values, st.integers(1, 2**63 - 1))
objectives = st.builds(
    Certificate,
    objective=names,
    kind=names,
    bound=numbers,
    value=st.none() | numbers,
    witness=st.dictionaries(
        names,
        values
        | names
        | st.lists(values, max_size=3)
        | st.lists(st.lists(values, max_size=3), max_size=3),
        max_size=3,
    ),
)
footers = st.builds(
    Footer,
    counts,
    counts,
    counts,
    counts,
    counts,
    st.builds(
        lambda first, others: (*first, *others),
        st.lists(certificates, max_size=1),
        st.lists(objectives, max_size=2),
    ),
)


def _array(rows: list[int]) -> IntArray:
    return np.array(rows, dtype=np.int64)


@st.composite
def _columns(draw: st.DrawFn, number: int, rows: int) -> list[IntArray]:
    lists = st.lists(values, min_size=rows, max_size=rows)
    return [_array(draw(lists)) for _ in range(number)]


@st.composite
def _segments(draw: st.DrawFn) -> Segment:
    rows = draw(st.integers(0, 4))
    src, dst = draw(_columns(2, rows))
    ragged = st.lists(st.lists(values, max_size=3), min_size=rows, max_size=rows)
    optional = st.none() | ragged.map(Ragged.from_lists)
    plain = [
        column if draw(st.booleans()) else None for column in draw(_columns(3, rows))
    ]
    circuits = Circuits(src, dst, draw(optional), draw(optional), *plain)
    return Segment(draw(st.integers(0, 3)), draw(st.integers(0, 3)), circuits)


@st.composite
def _parts(draw: st.DrawFn, segments: list[Segment]) -> StepPart:
    rows = draw(st.integers(0, 4))
    src, dst, lo, hi = draw(_columns(4, rows))
    op = _array(draw(st.lists(st.integers(0, 1), min_size=rows, max_size=rows)))
    moves = Transfers(src, dst, lo, hi, op)
    fluid = FluidTransfers(src, dst, lo)
    transfers: Transfers | FluidTransfers = fluid if draw(st.booleans()) else moves
    index = draw(counts)
    places = [(segment.plane, segment.index) for segment in segments]
    if draw(st.booleans()) and places:
        plane, segment = draw(st.sampled_from(places))
        return StepPart(index, plane, segment, transfers)
    return StepPart(index, None, None, transfers)


@st.composite
def schedules(draw: st.DrawFn) -> SealedSchedule:
    """Draw a schedule with a footer, whose segments are all different."""
    segments = draw(
        st.lists(
            _segments(), max_size=4, unique_by=lambda each: (each.plane, each.index)
        )
    )
    return SealedSchedule(
        fabric=draw(tables),
        task=draw(tasks),
        algorithm=Algorithm(draw(names), draw(parameters), draw(values)),
        segments=tuple(segments),
        parts=tuple(draw(st.lists(_parts(segments), max_size=4))),
        footer=draw(footers),
        written_by=draw(st.text(min_size=1, max_size=8)),
    )


def plain(value: object) -> object:
    """Return records as nested tuples, with arrays as (kind, list), to compare."""
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.tolist())
    if isinstance(value, dict):
        return [(key, plain(inner)) for key, inner in value.items()]
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, int | str | Fraction | None):
        return (type(value).__name__, value)
    fields = getattr(value, "__struct_fields__", None) or value.__dict__
    return (type(value).__name__, [plain(getattr(value, name)) for name in fields])
