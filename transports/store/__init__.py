# SPDX-License-Identifier: Apache-2.0
"""Key-value stores through which ranks find each other, with the names and semantics of torch.distributed's."""

from railgauge.transports.store.file_store import FileStore
from railgauge.transports.store.hash_store import HashStore
from railgauge.transports.store.prefix_store import PrefixStore
from railgauge.transports.store.store import Store
from railgauge.transports.store.tcp_store import TCPStore

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]
