# SPDX-License-Identifier: Apache-2.0
"""`import railgauge.torch` makes `backend="railgauge"` known to torch.distributed (docs/guide/torch.md)."""

import railgauge.collectives.joined_nodes  # noqa: F401  both now, not while all ranks wait for the first of their node
import railgauge.collectives.node_detection  # noqa: F401
from railgauge.collectives.torch.group import TorchGroup
from railgauge.collectives.torch.registration import register

__all__ = ["TorchGroup", "register"]
register()
