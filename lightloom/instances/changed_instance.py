"""An instance with some of its keys changed: a named one, or the one in a file."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lightloom.core.errors import InputError
from lightloom.core.units import GIB, KIB, MIB
from lightloom.formats.toml_tables import read_toml
from lightloom.instances.catalogue import is_instance_file, load_instance
from lightloom.instances.fabrics import load_fabric
from lightloom.instances.instance_file import parse_instance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lightloom.instances.instance import AnyFabric, Instance

BUFFER_BYTES = "collective.buffer_bytes"
"""The key that a size of a collective is about."""

_SIZE = re.compile(r"(?P<count>[0-9_]+) ?(?P<unit>[A-Za-z]*)")
_UNITS = {
    "": 1,
    "B": 1,
    "KiB": KIB,
    "MiB": MIB,
    "GiB": GIB,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
}


def load_changed(name: str, changes: Mapping[str, object]) -> Instance:
    """Return an instance with some keys of its file changed.

    Keys that are not stated keep their defaults, which may follow from those that are
    changed: with ``fabric.waveguides`` the ``fibers`` of a grid change as well, unless
    the file gives them.

    `name`: a name of the catalogue, a TOML file, or ``-`` for TOML on standard input.
    `changes`: values by key with its table, for example ``{"fabric.lasers": 8}``. The
    name of the instance says them, behind the one that it has.

    Raises `InputError`: there is no such instance, table or key, or the changed one is
    not right.
    """
    if not changes:
        return load_instance(name)
    if is_instance_file(name):
        tables, folder = read_toml(name), Path(name).parent
    else:
        tables, folder = _stated(load_instance(name)), Path()
    tables = copy.deepcopy(tables)
    for key, value in changes.items():
        table, dot, inner = key.partition(".")
        there = tables.get(table)
        if not dot or not isinstance(there, dict):
            known = [name for name, of in tables.items() if isinstance(of, dict)]
            what, allowed = "not a key of the instance", ", ".join(known)
            allowed = f"TABLE.KEY with one of the tables {allowed}"
            raise InputError(what, where=name, found=key, allowed=allowed)
        there[inner] = value
    said = " ".join(f"{key}={value}" for key, value in changes.items())
    return parse_instance(tables, name=f"{name} {said}", folder=folder)


def parse_size(text: str, where: str) -> int:
    """Return a size in bytes as people write it, for example ``3MiB`` or ``250 MB``.

    `text`: a whole number with a unit: B (or none), KiB, MiB, GiB, kB, MB, GB.

    Raises `InputError`: it is not of this form.
    """
    parts = _SIZE.fullmatch(text.strip())
    if parts is None or parts["unit"] not in _UNITS:
        allowed = f"a whole number with {', '.join(filter(None, _UNITS))}"
        raise InputError("not a size", where=where, found=text, allowed=allowed)
    return int(parts["count"].replace("_", "")) * _UNITS[parts["unit"]]


def _stated(instance: Instance) -> dict[str, Any]:
    """Return the tables of an instance with no key that says what is the default."""
    tables: dict[str, Any] = {**instance.table()}
    tables["fabric"] = _stated_fabric(instance.fabric)
    everybody = list(range(instance.fabric.node_count))
    if tables.get("collective", {}).get("nodes") == everybody:
        tables["collective"] = {**tables["collective"]}
        del tables["collective"]["nodes"]
    return tables


def _stated_fabric(fabric: AnyFabric) -> dict[str, object]:
    """Return the keys of a fabric without which it would be another one."""
    table: dict[str, object] = dict(fabric.table())
    for key in list(table):
        fewer = {other: value for other, value in table.items() if other != key}
        try:
            same = load_fabric(fewer, "fabric") == fabric
        except InputError:  # a key that must be there
            continue
        if same:
            table = fewer
    return table
