"""The machine a run takes place on."""

from __future__ import annotations

import functools
import os
import platform

import numpy as np

from lightloom.bench.result_row import Machine


def this_machine() -> Machine:
    """Return what distinguishes this machine, without its name."""
    system, processor, memory_bytes = _fixed()
    return Machine(
        system=system,
        processor=processor,
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=memory_bytes,
        python=platform.python_version(),
        numpy=np.__version__,
        load=round(os.getloadavg()[0], 2),
    )


@functools.cache
def _fixed() -> tuple[str, str, int]:
    pages, page_bytes = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return platform.system(), platform.machine(), pages * page_bytes
