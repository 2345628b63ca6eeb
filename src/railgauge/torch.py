# SPDX-License-Identifier: Apache-2.0
"""`import railgauge.torch` makes `backend="railgauge"` known to torch.distributed (docs/guide/torch.md)."""

from railgauge.collectives.torch.group import TorchGroup
from railgauge.collectives.torch.registration import register

__all__ = ["TorchGroup", "register"]
register()
