"""Check the nine operations of RAMP at full size: ``python benchmarks/ramp.py [NAME]``.

Each operation in a process of its own: processor time and peak memory of
``lightloom ramp check``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from lightloom.programs.ramp_at_scale import OPERATIONS

_START = "from lightloom.cli.main import main; main()"


def checked(name: str, op: str) -> tuple[dict[str, object], float, float]:
    """Return the report of an operation, its processor time in s and memory in MiB."""
    with tempfile.TemporaryFile() as out:
        arguments = [sys.executable, "-c", _START, "ramp", "check", name]
        child = subprocess.Popen([*arguments, "--op", op, "--json"], stdout=out)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            message = f"{op} on {name} ended with exit code {child.returncode}"
            raise RuntimeError(message)
        out.seek(0)
        report: dict[str, object] = json.loads(out.read())
    return report, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Print a row for each operation."""
    name = sys.argv[1] if len(sys.argv) > 1 else "ramp-65536/all-reduce-1GiB"
    print("| operation | steps | circuits | transfers | chunks followed | s | MiB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for op in OPERATIONS:
        report, seconds, mebibytes = checked(name, op)
        followed = f"{report['chunks_followed']:,} of {report['chunks']:,}"
        counts = " | ".join(
            f"{report[key]:,}" for key in ("steps", "circuits", "transfers")
        )
        print(
            f"| {op} | {counts} | {followed} | {seconds:.1f} | {mebibytes:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
