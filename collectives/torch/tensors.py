# SPDX-License-Identifier: Apache-2.0
"""Tensors as the engine reads and writes them: where they are, without a copy."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed import ReduceOp

from railgauge.collectives.dtype import Bitwise, PreMulSum, Redop
from railgauge.topo.errors import UsageError

REDUCED = {torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2}
REDUCED |= {torch.int8, torch.uint8, torch.int32, torch.uint32, torch.int64, torch.uint64, torch.int16, torch.uint16}
REDUCED |= {torch.bool, torch.complex64, torch.complex128}
"""Element types that the engine knows; others are moved as bytes. Between GPUs it refuses some reductions by name."""
WITHOUT_NUMPY = {torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2}
"""Types that NumPy lacks; the engine reads them by DLPack, which takes some microseconds more."""
BYTES_OF_FLOAT = {torch.float8_e4m3fn, torch.float8_e5m2}
"""Types that DLPack of torch before 2.9 lacks."""
OPERATORS = {
    ReduceOp.SUM.value: Redop.SUM,
    ReduceOp.PRODUCT.value: Redop.PROD,
    ReduceOp.MIN.value: Redop.MIN,
    ReduceOp.MAX.value: Redop.MAX,
    ReduceOp.AVG.value: Redop.AVG,
    ReduceOp.BAND.value: Bitwise.BAND,
    ReduceOp.BOR.value: Bitwise.BOR,
    ReduceOp.BXOR.value: Bitwise.BXOR,
}
"""By torch's numbers, which are found in a tenth of the time that its enumeration takes."""


def operator(op: Any) -> Any:
    """The engine's operator for torch's; UsageError for a PREMUL_SUM with a tensor as its factor."""
    kind = getattr(op, "op", op)
    if (known := OPERATORS.get(kind.value)) is not None:
        return known
    _, factor = op.__getstate__()  # of all releases; those before 2.12 have no attribute for it
    if not isinstance(factor, float):
        raise UsageError(f"reduction {kind} with factor {factor!r:.40}: only a number is supported")
    return PreMulSum(factor)


def reduced(tensor: Any) -> Any:
    """A tensor whose elements are reduced, as the engine reads it; UsageError as of `in_memory_order`, or its type."""
    if tensor.dtype not in REDUCED:
        raise UsageError(f"a tensor of {tensor.dtype} cannot be reduced")
    return _array(in_memory_order(tensor))


def moved(tensor: Any) -> Any:
    """A tensor whose elements are only moved; UsageError as of `in_memory_order`."""
    tensor = in_memory_order(tensor)
    if tensor.dtype in BYTES_OF_FLOAT or tensor.dtype not in REDUCED:
        tensor = tensor.reshape(-1).view(torch.uint8)
    return _array(tensor)


def in_memory_order(tensor: Any) -> Any:
    """A contiguous view of a tensor's elements in the order in which they lie in memory (channels last, transposed).

    Raises:
        UsageError: it is sparse, or has gaps or elements that share memory.
    """
    if tensor.layout is not torch.strided:
        raise UsageError("a sparse tensor: only dense ones are supported")
    if tensor.is_contiguous():
        return tensor
    view = tensor.permute(sorted(range(tensor.dim()), key=tensor.stride, reverse=True))
    if not view.is_contiguous():
        raise UsageError(
            f"a tensor of shape {tuple(tensor.shape)} with strides {tensor.stride()} is not contiguous: "
            "call .contiguous() first"
        )
    return view


def device_of(args: Sequence[Any]) -> Any:
    """The device of the first tensor in a call's arguments."""
    for one in args:
        while isinstance(one, (list, tuple)) and one:
            one = one[0]
        if isinstance(one, torch.Tensor):
            return one.device
    raise ValueError("railgauge: a call without a tensor")


def _array(tensor: Any) -> Any:
    if tensor.requires_grad:
        tensor = tensor.detach()
    return tensor.numpy() if tensor.is_cpu and tensor.dtype not in WITHOUT_NUMPY else tensor
