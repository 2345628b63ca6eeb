# SPDX-License-Identifier: Apache-2.0
"""Whether the arrays of a call fit its collective."""

from collections.abc import Sequence

from railgauge.collectives.collectives import Operator
from railgauge.collectives.cuda_array import CudaArray, ElementKind
from railgauge.collectives.dtype import Bitwise, PreMulSum, Redop
from railgauge.collectives.operation import IN_PLACE, REDUCING, extent
from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings.algorithm import Collective

OF_BOOLS = {Redop.SUM: Redop.MAX, Redop.PROD: Redop.MIN}


def reduction_of(what: Collective, op: Operator, kind: ElementKind) -> int:
    """The kernels' operator for one on elements of a kind: bools are bytes of 0 and 1, whose sum is `or` and whose
    product is `and`. UsageError: there is none.
    """
    if what not in REDUCING:
        return int(Redop.SUM)
    if isinstance(op, PreMulSum):
        op = Redop.AVG if kind is ElementKind.BOOL else Redop.SUM
    if isinstance(op, Bitwise):
        raise UsageError(f"{what}: {op!r} is for host memory")
    if op not in tuple(Redop):
        raise UsageError(f"{what}: op {op!r:.40}: expected a Redop")
    if kind is ElementKind.BOOL and op != Redop.AVG:
        return int(OF_BOOLS.get(Redop(op), op))
    if kind is ElementKind.NUMBER or (kind is ElementKind.COMPLEX and op in (Redop.SUM, Redop.AVG)):
        return int(op)
    of = {ElementKind.BOOL: "bool", ElementKind.COMPLEX: "complex numbers"}.get(kind, "integers of 16 bits")
    raise UsageError(f"{what}: {Redop(op).label} of {of} is not possible in the memory of GPUs")


def check_arrays(
    what: Collective, source: CudaArray, destination: CudaArray, count: int, root: int, *, rank: int, size: int
) -> None:
    """Raise UsageError if the arrays do not fit the collective."""
    if not 0 <= root < size:
        raise UsageError(f"{what}: root {root}: ranks are 0 to {size - 1}")
    needs = extent(what, count, rank, size, root)
    for which, array, wanted in (("source", source, needs.source), ("destination", destination, needs.destination)):
        if wanted and array.count != wanted:
            raise UsageError(f"{what}: the {which} has {array.count} elements, and needs {wanted}")
    if needs.source and needs.destination and (source.dtype, source.kind) != (destination.dtype, destination.kind):
        raise UsageError(
            f"{what}: {source.dtype.label} and {destination.dtype.label}: both arrays must have the same type"
        )
    if not (needs.source and needs.destination and source.overlaps(destination)):
        return
    if what not in IN_PLACE:
        raise UsageError(f"{what} cannot be run in place")
    apart = (needs.source_at - needs.destination_at) * source.dtype.bytes
    if source.pointer - destination.pointer != apart:
        raise UsageError(f"{what}: source and destination overlap, but not as in place")


def check_parts(
    source: CudaArray, send_counts: Sequence[int], destination: CudaArray, recv_counts: Sequence[int], *, size: int
) -> None:
    """Raise UsageError if the arrays and counts do not fit an alltoallv of `size` ranks."""
    if (source.dtype, source.kind) != (destination.dtype, destination.kind):
        raise UsageError(
            f"alltoallv: {source.dtype.label} and {destination.dtype.label}: both arrays must have the same type"
        )
    if source.overlaps(destination):
        raise UsageError("alltoallv: source and destination overlap")
    for which, array, counts in (("source", source, send_counts), ("destination", destination, recv_counts)):
        elements = array.count // array.numbers
        if len(counts) != size or min(counts) < 0 or sum(counts) != elements:
            raise UsageError(
                f"the {which} has {elements} elements: expected a count for each of {size} ranks, from 0, with that sum"
            )
