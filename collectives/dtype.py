# SPDX-License-Identifier: Apache-2.0
"""Element types and reduction operators under nccl-tests' names, with the numbers of the native engine
(collectives/native/dtype.h lists them in the same order).
"""

import enum
from dataclasses import dataclass

from railgauge.topo.errors import UsageError


class Dtype(enum.IntEnum):
    """An element type."""

    HALF = 0
    BFLOAT16 = 1
    FLOAT = 2
    DOUBLE = 3
    INT8 = 4
    UINT8 = 5
    INT32 = 6
    UINT32 = 7
    INT64 = 8
    UINT64 = 9
    F8E4M3 = 10
    """OCP's E4M3: no infinity, largest 448, NaN 0x7f."""
    F8E5M2 = 11

    @property
    def label(self) -> str:
        """The name in nccl-tests' tables."""
        return self.name.lower()

    @property
    def bytes(self) -> int:
        """Size of one element."""
        return (2, 2, 4, 8, 1, 1, 4, 4, 8, 8, 1, 1)[self]


class Redop(enum.IntEnum):
    """A reduction operator."""

    SUM = 0
    PROD = 1
    MIN = 2
    MAX = 3
    AVG = 4

    @property
    def label(self) -> str:
        """The name in nccl-tests' tables."""
        return self.name.lower()


class HostDtype(enum.IntEnum):
    """Element types of host memory alone."""

    INT16 = 12
    UINT16 = 13

    @property
    def label(self) -> str:
        """As of `Dtype`."""
        return self.name.lower()


class Bitwise(enum.IntEnum):
    """Operators of integers and bools in host memory alone, as MPI has them."""

    BAND = 5
    BOR = 6
    BXOR = 7

    @property
    def label(self) -> str:
        """As of `Redop`."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class PreMulSum:
    """The operator that adds each rank's elements times its own factor, as ncclRedOpCreatePreMulSum makes it: the
    products are rounded to the element type first. Of integers the factor is one too.
    """

    factor: float


def dtype_label(number: int) -> str:
    """The name of an element type of any memory."""
    return (Dtype(number) if number < len(Dtype) else HostDtype(number)).label


def redop_label(number: int) -> str:
    """The name of an operator of any memory."""
    return (Redop(number) if number < len(Redop) else Bitwise(number)).label


class PatternKind(enum.IntEnum):
    """The kinds of data that runs are verified with (collectives/native/pattern.h)."""

    EXACT = 0
    RANDOM = 1


OTHER_NAMES = {
    "float16": Dtype.HALF,
    "fp16": Dtype.HALF,
    "bf16": Dtype.BFLOAT16,
    "float32": Dtype.FLOAT,
    "float64": Dtype.DOUBLE,
    "char": Dtype.INT8,
    "int": Dtype.INT32,
    "float8_e4m3fn": Dtype.F8E4M3,
    "float8_e5m2": Dtype.F8E5M2,
}


def parse_dtypes(text: str) -> list[Dtype]:
    """Read -d: a type's name, or all.

    Raises:
        UsageError: no such type.
    """
    if text == "all":
        return list(Dtype)
    for dtype in Dtype:
        if text == dtype.label:
            return [dtype]
    if text in OTHER_NAMES:
        return [OTHER_NAMES[text]]
    raise UsageError(f"-d {text}: unknown type; types are {', '.join(d.label for d in Dtype)} and all")


def parse_redops(text: str) -> list[Redop]:
    """Read -o: an operator's name, or all.

    Raises:
        UsageError: no such operator.
    """
    if text == "all":
        return list(Redop)
    for op in Redop:
        if text == op.label:
            return [op]
    raise UsageError(f"-o {text}: unknown operator; operators are {', '.join(o.label for o in Redop)} and all")
