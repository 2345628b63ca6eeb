# SPDX-License-Identifier: Apache-2.0
"""Who a host is: its name and the 64-bit host hash that tells two machines' parts of one topology apart.

NCCL's `getHostHash` hashes host name and boot id, or NCCL_HOSTID alone. The value here differs from NCCL's, its use is
the same.
"""

import hashlib
from collections.abc import Mapping

from railgauge.topo.sources.reader import Reader

HOSTNAME = "/proc/sys/kernel/hostname"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def host_name(reader: Reader) -> str | None:
    """The host's name, None when it is not readable."""
    return reader.text(HOSTNAME)


def host_hash(reader: Reader, environment: Mapping[str, str]) -> str:
    """The host hash as `0x...`; the same for every process of one boot of one host."""
    identity = environment.get("NCCL_HOSTID") or f"{host_name(reader) or ''}{reader.text(BOOT_ID) or ''}"
    return f"{int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=8).digest()):#x}"
