# SPDX-License-Identifier: Apache-2.0
"""Bytes of an element, by nccl-tests' name of its type."""

DTYPE_BYTES = {
    "half": 2,
    "bfloat16": 2,
    "float": 4,
    "double": 8,
    "int8": 1,
    "uint8": 1,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "f8e4m3": 1,
    "f8e5m2": 1,
}
