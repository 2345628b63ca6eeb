# SPDX-License-Identifier: Apache-2.0
"""The names of operations and types in traces, as nccl-tests has them.

Traces name one operation in many ways: AllReduce (NCCL), allreduce and all_reduce, _allgather_base,
all_gather_into_tensor_coalesced, all_to_allv (PyTorch, PARAM). Without underscores all begin with one of few words.
"""

from enum import StrEnum

from railgauge.topo.nccl.settings.algorithm import Collective
from railgauge.topo.values.dtype_bytes import DTYPE_BYTES


class Message(StrEnum):
    """One half of a message between two ranks."""

    SEND = "send"
    RECV = "recv"


class NoData(StrEnum):
    """Entries of traces that move nothing between ranks."""

    WAIT = "wait"
    INIT = "init"
    COALESCED = "coalesced"


BARRIER = "barrier"
"""PyTorch's barrier is an all-reduce of one element."""
BEGINNINGS: tuple[tuple[str, Collective], ...] = (
    ("allreduce", Collective.ALL_REDUCE),
    ("allgather", Collective.ALL_GATHER),
    ("reducescatter", Collective.REDUCE_SCATTER),
    ("alltoall", Collective.ALL_TO_ALL),
    ("broadcast", Collective.BROADCAST),
    ("reduce", Collective.REDUCE),
    ("gather", Collective.GATHER),
    ("scatter", Collective.SCATTER),
    ("sendrecv", Collective.SEND_RECV),
    (BARRIER, Collective.ALL_REDUCE),
)
"""In this order: reducescatter before reduce."""
OTHER = {"send": Message.SEND, "isend": Message.SEND, "recv": Message.RECV, "irecv": Message.RECV}
NOTHING = {"wait": NoData.WAIT, "init": NoData.INIT, "coalesced": NoData.COALESCED}
DTYPES = {
    "float16": "half",
    "fp16": "half",
    "bf16": "bfloat16",
    "float32": "float",
    "fp32": "float",
    "float64": "double",
    "char": "int8",
    "byte": "uint8",
    "bool": "uint8",
    "int": "int32",
    "long": "int64",
    "float8_e4m3fn": "f8e4m3",
    "float8_e4m3fnuz": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "float8_e5m2fnuz": "f8e5m2",
    "complexfloat": "float",
    "complexdouble": "double",
}
"""Names of PyTorch (Float, BFloat16), NumPy and PARAM, in lower case, where nccl-tests has another."""
PAIRS = ("complexfloat", "complexdouble")
"""Types of which an element is two of NCCL's."""


def collective_of(text: str) -> Collective | Message | NoData | None:
    """The operation of a name in a trace; None for an unknown one."""
    word = text.lower().rpartition(":")[2].replace("_", "").replace(" ", "")
    if word in NOTHING:
        return NOTHING[word]
    return OTHER.get(word) or next((found for begin, found in BEGINNINGS if word.startswith(begin)), None)


def is_barrier(text: str) -> bool:
    """Whether a name is that of a barrier."""
    return BARRIER in text.lower()


def dtype_of(text: str) -> tuple[str, int] | None:
    """The type of a name in a trace, and how many elements of it one of the trace is; None for an unknown one."""
    word = text.lower().removeprefix("torch.").removeprefix("c10::")
    name = DTYPES.get(word, word)
    return (name, 2 if word in PAIRS else 1) if name in DTYPE_BYTES else None
