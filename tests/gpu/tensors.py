# SPDX-License-Identifier: Apache-2.0
"""Tensors that only C reads, by DLPack's exchange API as PyTorch has it, in memory of a simulated GPU."""

import ctypes
from typing import Any, ClassVar

from railgauge._native import collectives as native
from railgauge.collectives.dtype import Dtype

CUDA = 2
CODES = {"int": 0, "uint": 1, "half": 2, "float": 2, "double": 2, "bfloat": 4}


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


FromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(_Tensor))
WorkStream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class _Api(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("managed_from_object", ctypes.c_void_p),
        ("managed_to_object", ctypes.c_void_p),
        ("tensor_from_object", FromObject),
        ("current_work_stream", WorkStream),
    )


def _read(tensor: "Tensor", out: Any) -> int:
    Tensor.read += 1
    out[0] = tensor.told
    return 0


def _stream(_device_type: int, device: int, out: Any) -> int:
    out[0] = Tensor.streams.get(device, 0)
    return 0


API = _Api(1, 3, None, None, None, None, FromObject(_read), WorkStream(_stream))
_NAME = b"dlpack_exchange_api"  # the capsule refers to it
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class Tensor:
    """Elements in the memory of a GPU; it has no interface for Python."""

    __dlpack_c_exchange_api__ = _capsule(ctypes.addressof(API), _NAME, None)
    streams: ClassVar[dict[int, int]] = {}
    """By GPU, the one that its library works on."""
    read = 0
    """How often one was."""

    def __init__(
        self, memory: native.GpuMemory, dtype: Dtype, *shape: int, at: int = 0, stride: int = 1, device: int = 0
    ) -> None:
        """`at`: its first element there; `stride`: between those of the last axis."""
        strides = [stride]
        for extent in reversed(shape[1:]):
            strides.insert(0, strides[0] * extent)
        self._axes = (ctypes.c_int64 * len(shape))(*shape), (ctypes.c_int64 * len(shape))(*strides)
        code = next(code for name, code in CODES.items() if dtype.label.startswith(name))
        kind = (len(shape), code, 8 * dtype.bytes, 1)
        self.told = _Tensor(memory.pointer, CUDA, device, *kind, *self._axes, at * dtype.bytes)
