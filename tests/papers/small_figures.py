"""Every figure at a size that a test can afford, computed once a process."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from lightloom.core.units import KIB, MIB
from lightloom.papers import figure
from lightloom.papers.lumorph.training import MODELS
from lightloom.papers.ramp.systems import GB, MB
from lightloom.papers.sipml.setup import Trained

if TYPE_CHECKING:
    from lightloom.papers.reproduction import Reproduction

NCF = Trained("ncf", (256, 1024), 100, 512)
SMALL = (
    figure("lumorph-fig3").at(sizes=(8, 16), repeats=1),
    figure("lumorph-fig5").at(sizes=(8, 16)),
    figure("lumorph-fig6").at(gpus=16, buffer_bytes=MIB, waveguides=(1, 4)),
    figure("lumorph-fig7").at(sizes=(8, 16), buffers=(KIB, MIB)),
    figure("lumorph-fig8a").at(gpus=8, delays_ns=(0, 3_700, 25_000)),
    figure("lumorph-fig8b").at(gpus=8, rates=(100, 200), buffers=(16 * KIB, MIB)),
    figure("lumorph-fig10"),
    figure("lumorph-fig11").at(sizes=(8, 16), models=MODELS[1:]),
    figure("ramp-fig6").at(groups=(8, 32)),
    figure("ramp-fig7").at(groups=(8, 10, 32), per_group=(1, 256)),
    figure("ramp-fig8"),
    figure("ramp-fig15").at(sizes=(2, 16, 1024)),
    figure("ramp-fig16").at(losses=("2.5", "2.2", "1.0")),
    figure("ramp-fig17").at(gpus=(256, 4096)),
    figure("ramp-fig18"),
    figure("ramp-fig19").at(rates=(200, 12_800)),
    figure("ramp-fig20").at(sizes=(MB, 10 * GB)),
    figure("ramp-fig21").at(nodes=(16, 65_536), buffers=(MB, 10 * GB)),
    figure("ramp-fig22").at(nodes=(16, 65_536), buffers=(MB, 10 * GB)),
    figure("ramp-fig23").at(nodes=(16, 65_536)),
    figure("ramp-table3"),
    figure("ramp-table4"),
    figure("ramp-table9").at(losses=("2.5", "2.0", "1.0")),
    figure("ramp-table10").at(gpus=(256, 4096)),
    figure("sipac-fig3"),
    figure("sipac-fig4a").at(nodes=16),
    figure("sipac-fig4b").at(sizes=(16,), rates=(128, 512, 4096)),
    figure("sipml-fig5").at(gpus=16, rates=(128, 512), models=(NCF,)),
    figure("sipml-fig6").at(gpus=16, rates=(128, 8192), models=(NCF,)),
    figure("sipml-fig7").at(gpus=32, shown=8, degrees=(2, 4), trained=NCF),
    figure("sipml-fig8").at(gpus=16, rates=(128, 2048), switches=(1, 4), trained=NCF),
    figure("sipml-fig9").at(gpus=16, rates=(128,), delays_us=(30, 100), trained=NCF),
    figure("sipml-fig10").at(sizes=(16, 32), rate=256, models=(NCF,)),
    figure("sipml-table1").at(sizes=(8, 16), latencies_us=(1, 100), trained=NCF),
    figure("bruck-table1").at(mebibytes=(1,)),
    figure("decomposition-table1").at(delays=(0.04, 0.08), matrices=("pipeline",)),
    figure("overlap-table1").at(cases=((16, 4, 25.0, 8.0), (8, 2, 50.0, 32.0))),
)


@functools.cache
def small_run(name: str) -> Reproduction:
    """Return what a figure gives at its small size."""
    (small,) = (figure for figure in SMALL if figure.name == name)
    return small.run(lambda _: None)
