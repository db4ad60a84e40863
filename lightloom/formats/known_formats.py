"""The formats that lightloom reads and writes, and the commands that do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class KnownFormat:
    """One format.

    `suffix`: what names of such files end in. `version`: version, or whose definition
    is followed. `read`, `write`: commands that read and write it; empty for none.
    """

    name: str
    suffix: str
    version: str
    read: str
    write: str


KNOWN_FORMATS = (
    KnownFormat(
        "lightloom schedule",
        ".jsonl",
        "2 (reads 1)",
        "verify, replay, plot, export",
        "synth, solve, import",
    ),
    KnownFormat(
        "MSCCL XML",
        ".xml",
        "msccl 2023, Azure executor, RCCL",
        "verify, import",
        "export --to msccl",
    ),
    KnownFormat(
        "MSCCL++ execution plan",
        ".json",
        "microsoft/mscclpp 2025",
        "verify, import",
        "export --to mscclpp",
    ),
    KnownFormat("transfers as CSV", ".csv", "1", "import", "export --to transfers"),
    KnownFormat("flows of TE-CCL", ".json", "keys 6-Flows, 7-Flows", "import", ""),
    KnownFormat(
        "solution of overlap4ocs",
        ".json",
        "of PuLP or Gurobi",
        "import --config",
        "",
    ),
    KnownFormat(
        "parameters of overlap4ocs",
        ".toml",
        "keys of its README",
        "import --config",
        "",
    ),
    KnownFormat("switch program as CSV", ".csv", "1", "", "export --to csv"),
    KnownFormat("switch or node program as JSON", ".json", "1", "", "export --to json"),
    KnownFormat(
        "SONiC OCS cross-connects",
        ".json",
        "OCS_CROSS_CONNECT, JSON patch (RFC 6902)",
        "",
        "export --to sonic-ocs",
    ),
    KnownFormat(
        "instance", ".toml", "1", "every command with INSTANCE", "instances show"
    ),
    KnownFormat("traffic matrix, pairs", ".csv", "1", "[demand] of an instance", ""),
    KnownFormat("trace events", ".json", "Perfetto, Chrome", "", "replay --trace"),
    KnownFormat("picture", ".png, .svg, .pdf", "", "", "plot, reproduce, bench report"),
    KnownFormat("Chakra trace", ".et", "0.0.4", "train --chakra", "export --to chakra"),
    KnownFormat(
        "communication log",
        ".log, .txt",
        "as published with LUMORPH",
        "train --log",
        "",
    ),
    KnownFormat(
        "FlexFlow task graph",
        ".json",
        "as published with TopoOpt",
        "train --graph",
        "",
    ),
    KnownFormat("iterations by batch size", ".csv", "1", "train --curve", ""),
    KnownFormat("table of a sweep", ".csv", "1", "", "sweep --csv"),
    KnownFormat("model", ".mps, .lp", "MPS, CPLEX LP", "", "model --write"),
    KnownFormat("ONNX", ".onnx", "onnx >= 1.17", "[computation] of an instance", ""),
    KnownFormat(
        "FlexFlow operator profile",
        ".json",
        "as published with TopoOpt",
        "[computation] of an instance",
        "",
    ),
    KnownFormat("graph of operations", ".json", "1", "[workload] of an instance", ""),
    KnownFormat(
        "benchmark results", ".jsonl", "1", "bench report, compare", "bench run"
    ),
)
"""Every format that a command reads or writes; ``.gz`` and ``.zst`` compress."""
