# SPDX-License-Identifier: Apache-2.0
"""RAILGAUGE_VERIFY=every:N: every Nth result that all ranks share is compared across them."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from railgauge.collectives.communicator import Communicator
from railgauge.collectives.torch.call import TorchCall
from railgauge.topo.errors import RunError, UsageError

SETTING = "RAILGAUGE_VERIFY"
SHARED = ("all_reduce", "allreduce_coalesced", "broadcast", "all_gather", "_all_gather_base")
"""Operations whose result is the same bytes on all ranks; of the others each rank has its own."""
DIGEST_BYTES = 16


class ResultCheck:
    """One group's count of shared results, and the comparison of those that are due."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        """UsageError if the setting is invalid. It must be the same on all ranks."""
        setting = environ.get(SETTING, "")
        found = re.fullmatch(r"every:([1-9]\d{0,8})", setting)
        if setting and not found:
            raise UsageError(f"{SETTING}={setting!r:.40}: expected every:N, N from 1")
        self._every = int(found[1]) if found else 0
        self._shared = 0
        self.checked = 0

    def after(self, call: TorchCall, on: Communicator) -> None:
        """Compare the result of a call that has just ended, if it is due; all ranks call it for the same calls.

        Raises:
            RunError: some ranks have other bytes than most; they are named.
        """
        if not self._every or call.label not in SHARED:
            return
        self._shared += 1
        if self._shared % self._every:
            return
        self.checked += 1
        digests = np.empty((on.size, DIGEST_BYTES), np.uint8)
        on.all_gather(np.frombuffer(_digest(call.operation.outputs), np.uint8), digests)
        if deviating := deviating_ranks([row.tobytes() for row in digests]):
            raise RunError(f"{SETTING}: the result differs between ranks: {deviating}")


def deviating_ranks(digests: Sequence[bytes]) -> str:
    """Which ranks have other bytes than most, in words; empty if all are equal."""
    (most, count), *others = Counter(digests).most_common()
    if not others:
        return ""
    if count > len(digests) // 2:
        ranks = ", ".join(str(rank) for rank, one in enumerate(digests) if one != most)
        return f"rank {ranks} has other bytes than the {count} ranks that agree"
    return "no majority agrees; digests by rank: " + ", ".join(one.hex()[:8] for one in digests)


def _digest(tensors: Sequence[Any]) -> bytes:
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for tensor in tensors:
        found.update(tensor.detach().contiguous().view(-1).view(torch.uint8).numpy())
    return found.digest()
