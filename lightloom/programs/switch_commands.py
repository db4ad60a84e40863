"""Programs of switches: which circuits each plane sets and clears, and when."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lightloom.core.circuit import ALONE
from lightloom.core.errors import InputError
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.fabrics.lightpath import Lightpath
from lightloom.instances.fabrics.ramp import Ramp
from lightloom.replay import replay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lightloom.core.circuit import Circuits
    from lightloom.core.columns import IntArray
    from lightloom.core.schedule import Schedule
    from lightloom.instances.instance import AnyFabric
    from lightloom.replay.timeline import PairTimes


SWITCH_FORMATS = ("csv", "json", "sonic-ocs")
"""How programs of switches can be written."""

CircuitRow: TypeAlias = "dict[str, int | list[int]]"
"""A circuit: src, dst and the columns that its fabric has."""
_COLUMNS = ("wavelengths", "route", "direction", "transceiver")


@dataclass(frozen=True)
class SwitchChange:
    """What one plane does between two segments.

    `plane`, `segment`: the plane, and the segment that it sets. `start_ps`, `end_ps`:
    when it begins to change, and when the segment is there. `disconnect`, `connect`:
    circuits that go, and circuits that come; those that stay are in neither. `tiles`:
    on LIGHTPATH, what tiles are set to where that changes.
    """

    plane: int
    segment: int
    start_ps: int
    end_ps: int
    disconnect: tuple[CircuitRow, ...]
    connect: tuple[CircuitRow, ...]
    tiles: dict[int, TileSetting]


def switch_changes(schedule: Schedule) -> list[SwitchChange]:
    """Return what every plane does, in the order of time, then of planes.

    `schedule`: a valid schedule on a fabric with circuits. A first segment that is not
    charged for is there at time 0.

    Raises `InputError` if the fabric has no circuits.

    Times are those of `replay`: as early as the semantics allow.
    """
    if not schedule.segments:
        what = "there are no circuits to switch"
        raise InputError(what, where="fabric.kind", found=schedule.fabric["kind"])
    times = {
        (change.plane, change.segment): (change.start_ps, change.end_ps)
        for change in replay(schedule).reconfigurations
    }
    fabric = load_fabric(schedule.fabric)
    held: dict[int, list[CircuitRow]] = {}
    tiles: dict[int, dict[int, TileSetting]] = {}
    changes = []
    for segment in schedule.segments:
        rows = list(_rows(segment.circuits, tuning(fabric, segment.circuits)))
        earlier = tiles.get(segment.plane, {})
        tiles[segment.plane] = now = tile_settings(fabric, segment.circuits)
        before = held.get(segment.plane, [])
        start_ps, end_ps = times.get((segment.plane, segment.index), (0, 0))
        old, new = ({_key(row) for row in each} for each in (before, rows))
        changes.append(
            SwitchChange(
                segment.plane,
                segment.index,
                start_ps,
                end_ps,
                tuple(row for row in before if _key(row) not in new),
                tuple(row for row in rows if _key(row) not in old),
                {
                    tile: now.get(tile, TileSetting())
                    for tile in sorted({*earlier, *now})
                    if earlier.get(tile) != now.get(tile)
                },
            )
        )
        held[segment.plane] = rows
    return sorted(changes, key=lambda change: (change.start_ps, change.plane))


def _key(row: CircuitRow) -> str:
    return json.dumps(row, sort_keys=True)


def _rows(circuits: Circuits, tuned: dict[str, IntArray]) -> Iterator[CircuitRow]:
    """Yield circuits as records, without the columns that the fabric lacks."""
    for number in range(len(circuits)):
        row: CircuitRow = {
            "src": int(circuits.src[number]),
            "dst": int(circuits.dst[number]),
        }
        for name in ("wavelengths", "route"):
            ragged = getattr(circuits, name)
            if ragged is not None:
                row[name] = [int(value) for value in ragged[number]]
        for name in ("direction", "transceiver"):
            column = getattr(circuits, name)
            if column is not None:
                row[name] = int(column[number])
        row |= {name: int(column[number]) for name, column in tuned.items()}
        yield row


def switch_text(schedule: Schedule, form: str, node: int | None = None) -> str:
    """Return the program of the switches, or what concerns one node, as text.

    `form`: ``csv`` (a line for each circuit that goes or comes), ``json`` (a list of
    timed changes for each plane; with `node`, what the node tunes, sends and receives)
    or ``sonic-ocs`` (a JSON patch of the table OCS_CROSS_CONNECT for each change).
    `node`: one node, from 0; ``None`` for all planes. Only with ``json``.

    Raises `InputError`: no circuits, no such node, a form that does not fit, or
    ``sonic-ocs`` for another fabric than optical circuit switches.
    """
    if node is not None:
        if form != "json":
            what = "the program of one node is written as json"
            raise InputError(what, where="--to", found=form, allowed="json")
        return _lines(_node_program(schedule, node))
    changes = switch_changes(schedule)
    if form == "csv":
        return _csv(changes)
    if form == "sonic-ocs":
        kind = schedule.fabric["kind"]
        if kind != "ocs":
            what = "cross-connects are those of optical circuit switches"
            raise InputError(what, where="fabric.kind", found=kind, allowed="ocs")
        return _lines([_sonic(change) for change in changes if _moves(change)])
    return _lines(
        [
            {
                "time_ps": change.start_ps,
                "established_ps": change.end_ps,
                "plane": change.plane,
                "segment": change.segment,
                "disconnect": list(change.disconnect),
                "connect": list(change.connect),
                **_tiles(change),
            }
            for change in changes
        ]
    )


def _tiles(change: SwitchChange) -> dict[str, object]:
    """Return the tiles of a change, if there are any, as plain values."""
    if not change.tiles:
        return {}
    return {
        "tiles": [
            {"tile": tile, **msgspec.to_builtins(setting)}
            for tile, setting in change.tiles.items()
        ]
    }


def _moves(change: SwitchChange) -> bool:
    return bool(change.disconnect or change.connect)


def _lines(records: list[dict[str, object]]) -> str:
    """Return records as a JSON list, one record a line."""
    body = ",\n".join(json.dumps(record) for record in records)
    return f"[\n{body}\n]\n" if records else "[]\n"


def _csv(changes: list[SwitchChange]) -> str:
    """Return a line for each circuit; lists are separated by spaces."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    head = ("time_ps", "established_ps", "plane", "action", "src", "dst", *_COLUMNS)
    writer.writerow(head)
    for change in changes:
        for action, rows in (
            ("disconnect", change.disconnect),
            ("connect", change.connect),
        ):
            for row in rows:
                columns = [row.get(name, "") for name in ("src", "dst", *_COLUMNS)]
                texts = [
                    " ".join(map(str, value)) if isinstance(value, list) else value
                    for value in columns
                ]
                times = (change.start_ps, change.end_ps, change.plane)
                writer.writerow((*times, action, *texts))
    return stream.getvalue()


def _sonic(change: SwitchChange) -> dict[str, object]:
    """Return a change as a JSON patch, removals first; ports count from 1."""

    def name(row: CircuitRow) -> tuple[str, str, str]:
        src, dst = row["src"], row["dst"]
        assert isinstance(src, int)
        assert isinstance(dst, int)
        one, other = f"{src + 1}A", f"{dst + 1}B"
        return f"{one}-{other}", one, other

    patch: list[dict[str, object]] = []
    for row in change.disconnect:
        path = f"/OCS_CROSS_CONNECT/{name(row)[0]}"
        patch.append({"op": "remove", "path": path})
    for row in change.connect:
        both, one, other = name(row)
        value = {"a_side": one, "b_side": other}
        path = f"/OCS_CROSS_CONNECT/{both}"
        patch.append({"op": "add", "path": path, "value": value})
    return {
        "time_ps": change.start_ps,
        "established_ps": change.end_ps,
        "switch": change.plane,
        "patch": patch,
    }


def _node_program(schedule: Schedule, node: int) -> list[dict[str, object]]:
    """Return what a node tunes, sends and receives, in the order of time."""
    timeline = replay(schedule)
    count = len(timeline.nodes.sent_bytes)
    if not 0 <= node < count:
        allowed = f"0 to {count - 1}"
        raise InputError("unknown node", where="--node", found=node, allowed=allowed)
    records: list[dict[str, object]] = []
    for change in switch_changes(schedule):
        head = {
            "plane": change.plane,
            "segment": change.segment,
        }
        times = {"time_ps": change.start_ps, "end_ps": change.end_ps}
        for action, rows in (
            ("disconnect", change.disconnect),
            ("connect", change.connect),
        ):
            records += [
                {**times, "do": action, **head, **row}
                for row in rows
                if node in (row["src"], row["dst"])
            ]
        if node in change.tiles:
            setting = msgspec.to_builtins(change.tiles[node])
            records.append({**times, "do": "set", **head, **setting})
    pairs = timeline.pairs
    fabric, shares = load_fabric(schedule.fabric), _shares(schedule)
    for row in range(len(pairs)):
        src, dst = int(pairs.src[row]), int(pairs.dst[row])
        if node not in (src, dst):
            continue
        records.append(
            {
                "time_ps": int(pairs.start_ps[row]),
                "end_ps": int(pairs.end_ps[row]),
                "do": "send" if src == node else "receive",
                "plane": int(pairs.plane[row]),
                "segment": int(pairs.segment[row]),
                "step": int(pairs.step[row]),
                "waits_for_step": int(pairs.step[row]) - 1,
                "peer": dst if src == node else src,
                "bytes": int(pairs.bytes[row]),
                **_slots(fabric, shares, pairs, row),
            }
        )
    order = {"disconnect": 0, "connect": 1, "set": 2, "send": 3, "receive": 4}
    return sorted(records, key=lambda each: (each["time_ps"], order[str(each["do"])]))


def _shares(schedule: Schedule) -> Counter[tuple[int, int, int, int]]:
    """Return how many circuits each (plane, segment, src, dst) has."""
    return Counter(
        (segment.plane, segment.index, src, dst)
        for segment in schedule.segments
        for src, dst in zip(
            segment.circuits.src.tolist(), segment.circuits.dst.tolist(), strict=True
        )
    )


def _slots(
    fabric: AnyFabric,
    shares: Counter[tuple[int, int, int, int]],
    pairs: PairTimes,
    row: int,
) -> dict[str, int]:
    """Return the time slots of a pair, where the fabric has any."""
    keys = (pairs.plane, pairs.segment, pairs.src, pairs.dst)
    plane, segment, src, dst = (int(each[row]) for each in keys)
    circuits = shares[plane, segment, src, dst]
    slots = slots_of(fabric, int(pairs.bytes[row]), circuits)
    return {} if slots is None else {"slots": slots}


SIDES = ("up", "left", "right", "down")
"""Sides of a tile, in the order in which edges leave it."""
_LASER, _PHOTODIODE = "laser", "photodiode"


class TileSwitch(msgspec.Struct, frozen=True, omit_defaults=True):
    """Light that a tile's switches (Mach-Zehnder interferometers) pass on.

    `enters`, `leaves`: a side of the tile; or ``laser``, and ``photodiode``.
    `waveguides_in`, `waveguides_out`: the waveguide, or fibre, of each colour at these
    sides.
    """

    enters: str
    leaves: str
    wavelengths: tuple[int, ...]
    waveguides_in: tuple[int, ...] = ()
    waveguides_out: tuple[int, ...] = ()


class TileSetting(msgspec.Struct, frozen=True):
    """What a tile is set to.

    `lasers`, `photodiodes`: those in use, by their wavelengths. `switches`: what its
    switches pass on.
    """

    lasers: tuple[int, ...] = ()
    photodiodes: tuple[int, ...] = ()
    switches: tuple[TileSwitch, ...] = ()


def tile_settings(fabric: AnyFabric, circuits: Circuits) -> dict[int, TileSetting]:
    """Return what each tile is set to, tiles without light left out.

    Files do not say which waveguide of an edge carries a circuit: each wavelength of a
    circuit takes the first one on which it is free, in the order of the circuits.
    """
    if not isinstance(fabric, Lightpath):
        return {}
    none: tuple[int, ...] = ()
    switches: dict[int, dict[TileSwitch, None]] = {}
    lanes = _Waveguides()
    wavelengths, routes = circuits.lists("wavelengths"), circuits.lists("route")
    for number in range(len(circuits)):
        colours = tuple(sorted(int(each) for each in wavelengths[number]))
        group = ALONE if circuits.multicast is None else int(circuits.multicast[number])
        route = routes[number]
        edges = fabric.edge_ids(route[:-1], route[1:]).tolist()
        enters, lane_in = _LASER, none
        for tile, edge in zip(route.tolist(), [*edges, None], strict=True):
            leaves, lane_out = _PHOTODIODE, none
            if edge is not None:
                leaves, lane_out = SIDES[edge % 4], lanes.take(edge, colours, group)
            passed = TileSwitch(enters, leaves, colours, lane_in, lane_out)
            switches.setdefault(tile, {})[passed] = None
            if edge is not None:  # what leaves to the right comes in from the left
                enters, lane_in = SIDES[3 - edge % 4], lane_out
    return {tile: _setting(tuple(all_of)) for tile, all_of in sorted(switches.items())}


def _setting(switches: tuple[TileSwitch, ...]) -> TileSetting:
    """Return a tile with its lasers and photodiodes."""
    lasers = {c for one in switches if one.enters == _LASER for c in one.wavelengths}
    diodes = {
        c for one in switches if one.leaves == _PHOTODIODE for c in one.wavelengths
    }
    return TileSetting(tuple(sorted(lasers)), tuple(sorted(diodes)), switches)


class _Waveguides:
    """Which waveguides of each edge are taken, by wavelength."""

    def __init__(self) -> None:
        self._used: dict[tuple[int, int], int] = {}
        self._shared: dict[tuple[int, int, int], int] = {}

    def take(self, edge: int, colours: tuple[int, ...], group: int) -> tuple[int, ...]:
        """Return a waveguide for each wavelength; a multicast circuit has one."""
        taken = []
        for colour in colours:
            key = (edge, colour, group)
            if group != ALONE and key in self._shared:
                taken.append(self._shared[key])
                continue
            lane = self._used.get((edge, colour), 0)
            self._used[edge, colour] = lane + 1
            self._shared[key] = lane
            taken.append(lane)
        return tuple(taken)


def tuning(fabric: AnyFabric, circuits: Circuits) -> dict[str, IntArray]:
    """Return what the ends of circuits are tuned to, beyond the columns of a file.

    `fabric`: RAMP has the ``wavelength`` of each circuit, and the groups of both ends:
    the path that the transceiver opens. Other fabrics have nothing.
    """
    if not isinstance(fabric, Ramp):
        return {}
    return {
        "wavelength": fabric.wavelength(circuits.src, circuits.dst),
        "src_group": fabric.coordinates(circuits.src)[0],
        "dst_group": fabric.coordinates(circuits.dst)[0],
    }


def slots_of(fabric: AnyFabric, size_bytes: int, circuits: int) -> int | None:
    """Return the time slots that data of a pair take, ``None`` where there are none."""
    if not isinstance(fabric, Ramp):
        return None
    each = -(-size_bytes // circuits)
    return -(-each // fabric.slot_bytes)
