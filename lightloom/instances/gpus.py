"""GPUs by name: peak rates from their makers' data sheets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lightloom.core.errors import InputError, nearest, unknown_name
from lightloom.core.units import PS_PER_S, PS_PER_US

if TYPE_CHECKING:
    from collections.abc import Mapping

ELEMENT_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "tf32": 4}
"""Precisions, and the size of an element in memory; tf32 is fp32 there."""

_TERA = 10**12
_GIGA = 10**9


@dataclass(frozen=True)
class Gpu:
    """A GPU as the roofline model sees it.

    `flops_per_s`: peak rate of dense matrix products by precision, without sparsity.
    `memory_bytes_per_s`, `memory_bytes`: bandwidth and size of its memory.
    `shortest_ps`: time that no operation undercuts. `source`: document that the numbers
    are from.
    """

    name: str
    flops_per_s: Mapping[str, int]
    memory_bytes_per_s: int
    memory_bytes: int
    source: str
    shortest_ps: int = PS_PER_US

    def peak_flops_per_s(self, precision: str) -> int:
        """Return the peak rate at a precision.

        Raises `InputError` if the GPU does not compute at it.
        """
        if precision not in self.flops_per_s:
            raise InputError(
                f"{self.name} has no rate at this precision",
                found=precision,
                allowed=", ".join(sorted(self.flops_per_s)),
                fix=nearest(precision, self.flops_per_s),
            )
        return self.flops_per_s[precision]

    def roofline_ps(self, flops: int, memory_bytes: int, precision: str) -> int:
        """Return the time of the longer of work at peak rate and traffic of the memory.

        Raises `InputError` if the GPU does not compute at the precision.
        """
        return max(
            -(-flops * PS_PER_S // self.peak_flops_per_s(precision)),
            -(-memory_bytes * PS_PER_S // self.memory_bytes_per_s),
        )


GPUS = {
    gpu.name: gpu
    for gpu in (
        Gpu(
            name="a100",
            flops_per_s={
                "fp32": 19_500 * _GIGA,
                "tf32": 156 * _TERA,
                "fp16": 312 * _TERA,
                "bf16": 312 * _TERA,
            },
            memory_bytes_per_s=2_039 * _GIGA,
            memory_bytes=80 * _GIGA,
            source="NVIDIA A100 Tensor Core GPU data sheet, SXM4 with 80 GB",
        ),
        Gpu(
            name="h100",
            flops_per_s={
                "fp32": 66_900 * _GIGA,
                "tf32": 494_700 * _GIGA,
                "fp16": 989_400 * _GIGA,
                "bf16": 989_400 * _GIGA,
            },
            memory_bytes_per_s=3_350 * _GIGA,
            memory_bytes=80 * _GIGA,
            source="NVIDIA H100 Tensor Core GPU architecture paper, SXM5 with 80 GB",
        ),
        Gpu(
            name="v100",
            flops_per_s={"fp32": 15_700 * _GIGA, "fp16": 125 * _TERA},
            memory_bytes_per_s=900 * _GIGA,
            memory_bytes=32 * _GIGA,
            source="NVIDIA V100 Tensor Core GPU data sheet, SXM2 with 32 GB",
        ),
    )
}
"""GPUs by name."""


def gpu_named(name: str) -> Gpu:
    """Return a GPU by name.

    Raises `InputError` if there is none of that name.
    """
    if name not in GPUS:
        raise unknown_name("GPU", name, GPUS, where="gpu")
    return GPUS[name]
