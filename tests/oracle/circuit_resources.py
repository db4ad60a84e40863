"""What circuits take of a fabric, counted one circuit after another in dictionaries.

Written from docs/spec/instance-file.md and docs/spec/semantics.md, and from the table
of a fabric alone: nothing here calls `usage` or `capacity`, which checker, strategies
and mutants share.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from lightloom.testing.strategies.candidate_circuits import LightPath

Table = dict[str, Any]
Resource = tuple[str, tuple["Hashable", ...]]
"""The rule that limits it, and which of its kind it is."""
Taken = tuple[Resource, int]
"""A resource, and how often there is one."""


def count(table: Table, circuits: Sequence[LightPath]) -> dict[Resource, list[int]]:
    """Return how often each resource is taken, and how often it is there.

    Parameters
    ----------
    table
        The ``[fabric]`` of an instance file with every key.
    circuits
        Circuits of one segment, each possible by itself. Those that share a number
        `multicast` of 0 or more are one circuit with several destinations.

    Returns
    -------
    Resource -> [taken, capacity], for those that are taken at all.
    """
    found: dict[Resource, list[int]] = defaultdict(lambda: [0, 0])
    for circuit in _transmissions(circuits):
        for resource, capacity in _KINDS[table["kind"]](table, circuit):
            found[resource][0] += 1
            found[resource][1] = capacity
    if table["kind"] == "ocs" and table["bidirectional"]:
        found.update(_matched_ports(circuits))
    return dict(found)


def _transmissions(circuits: Sequence[LightPath]) -> Iterator[list[LightPath]]:
    """Yield circuits: rows that are alone, and all rows of one multicast."""
    shared: dict[int, list[LightPath]] = {}
    for path in circuits:
        if path.multicast < 0:
            yield [path]
        else:
            shared.setdefault(path.multicast, []).append(path)
    yield from shared.values()


def _lightpath(table: Table, circuit: list[LightPath]) -> Iterator[Taken]:
    """Take laser, photodiode, and a waveguide or fibre of every edge, per colour."""
    (path,) = circuit

    def wafer(tile: int) -> tuple[int, int]:
        row, col = divmod(tile, table["cols"])
        return row // table["wafer_rows"], col // table["wafer_cols"]

    for colour in path.wavelengths:
        yield ("lasers", (path.src, colour)), 1
        yield ("photodiodes", (path.dst, colour)), 1
        for at in range(len(path.route) - 1):
            tail, head = path.route[at], path.route[at + 1]
            inside = wafer(tail) == wafer(head)
            there = table["waveguides"] if inside else table["fibers"]
            yield ("waveguides", (tail, head, colour)), there


def _ocs(table: Table, circuit: list[LightPath]) -> Iterator[Taken]:
    """Take the input of the source and the output of the destination."""
    del table
    (path,) = circuit
    yield ("switch-inputs", (path.src,)), 1
    yield ("switch-outputs", (path.dst,)), 1


def _matched_ports(circuits: Iterable[LightPath]) -> dict[Resource, list[int]]:
    """Return how many others the port of each node is joined to: one is allowed."""
    partners: dict[int, set[int]] = defaultdict(set)
    for path in circuits:
        partners[path.src].add(path.dst)
        partners[path.dst].add(path.src)
    return {
        ("switch-ports", (node,)): [len(others), 1] for node, others in partners.items()
    }


def _along(
    circle: list[int], path: LightPath, *, back: bool, shared: bool, name: object
) -> Iterator[Taken]:
    """Take the ends of a circuit on a ring, and walk over its spans."""
    fibre = int(back)
    transceiver = 0 if shared else fibre
    for colour in path.wavelengths:
        yield ("lasers", (name, path.src, transceiver, colour)), 1
        yield ("photodiodes", (name, path.dst, transceiver, colour)), 1
        at = circle.index(path.src)
        while circle[at] != path.dst:
            following = (at + (-1 if back else 1)) % len(circle)
            yield ("spans", (name, circle[at], circle[following], fibre, colour)), 1
            at = following


def _ring(table: Table, circuit: list[LightPath]) -> Iterator[Taken]:
    (path,) = circuit
    circle = list(range(table["nodes"]))
    shared = table["shared_transceivers"]
    back = path.direction == 1
    yield from _along(circle, path, back=back, shared=shared, name="ring")


def _ring_2d(table: Table, circuit: list[LightPath]) -> Iterator[Taken]:
    """Walk along the row in directions 0 and 1, along the column in 2 and 3."""
    (path,) = circuit
    rows, cols = table["rows"], table["cols"]
    row, col = divmod(path.src, cols)
    if path.direction < 2:
        circle, name = [row * cols + each for each in range(cols)], ("row", row)
    else:
        circle, name = [each * cols + col for each in range(rows)], ("column", col)
    shared = table["shared_transceivers"]
    back = path.direction in {1, 3}
    yield from _along(circle, path, back=back, shared=shared, name=name)


def _ramp(table: Table, circuit: list[LightPath]) -> Iterator[Taken]:
    """Take a transmitter, receivers, and the subnets between the groups."""
    racks, numbers = table["racks"], table["nodes_per_rack"]

    def place(node: int) -> tuple[int, int, int]:
        return (
            node // (racks * numbers),
            node // numbers % racks,
            node % numbers,
        )

    first = circuit[0]
    yield ("transmitters", (first.src, first.transceiver)), 1
    subnets: list[Resource] = []
    for path in circuit:
        yield ("receivers", (path.dst, path.transceiver)), 1
        (group, rack, number), (to_group, _, to_number) = (
            place(path.src),
            place(path.dst),
        )
        subnet = (group, to_group, path.transceiver)
        if table["subnet"] == "broadcast-and-select":
            subnets.append(("subnets", (*subnet, to_number)))
        elif table["subnet"] == "route-and-broadcast":
            wavelength = (to_number - number) % numbers
            subnets.append(("subnets", (*subnet, to_number, wavelength)))
        else:
            subnets.append(("subnets", (*subnet, to_number, rack)))
    if table["subnet"] != "route-and-switch":
        # One wavelength of a coupler is heard by all; a switch input has one output.
        subnets = list(dict.fromkeys(subnets))
    for each in subnets:
        yield each, 1


def _sipac(table: Table, circuit: list[LightPath]) -> Iterator[Taken]:
    """Take wavelengths of the fibre into each switch once, and of every output bus."""

    def level(path: LightPath) -> int:
        src, dst, found = path.src, path.dst, 0
        while src // table["radix"] != dst // table["radix"]:
            src, dst, found = src // table["radix"], dst // table["radix"], found + 1
        return found

    sent: set[Resource] = set()
    for path in circuit:
        for colour in path.wavelengths:
            sent.add(("lasers", (path.src, level(path), colour)))
            yield ("photodiodes", (path.dst, level(path), colour)), 1
    for each in sorted(sent, key=repr):
        yield each, 1


_KINDS: dict[str, Callable[[Table, list[LightPath]], Iterator[Taken]]] = {
    "lightpath": _lightpath,
    "ocs": _ocs,
    "ramp": _ramp,
    "ring": _ring,
    "ring-2d": _ring_2d,
    "sipac": _sipac,
}
"""Kind of fabric -> what one circuit takes."""
CIRCUIT_KINDS = tuple(_KINDS)
