# SPDX-License-Identifier: Apache-2.0
"""Where the hub listens, as process 0 publishes it in the store."""

import hmac
import ipaddress
from dataclasses import asdict, dataclass, field

from railgauge.topo.errors import RunError
from railgauge.topo.values.printable import one_line
from railgauge.transports.addresses import host_and_port
from railgauge.transports.typed import read_printable_json

LONGEST = 4000
LONGEST_TROUBLE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class HubPlace:
    """An address, and what a connection to it needs."""

    address: str
    port: int
    interface: str
    host: str
    network: str
    """The network namespace in which its loopback addresses are valid (`peer.network_id`)."""
    key: str = field(repr=False)
    """Random: with the job secret it makes the hub's secret, so that only processes that read the store can join."""
    reason: str = ""
    """Why that interface was chosen (`Interface.reason`)."""

    def secret(self, job_secret: bytes) -> bytes:
        """The secret that both ends of a connection to the hub prove."""
        return hmac.digest(job_secret, b"hub" + self.key.encode(), "sha256")

    @property
    def is_loopback(self) -> bool:
        """Whether only its own host, or network namespace, reaches it."""
        return ipaddress.ip_address(self.address).is_loopback

    def to_dict(self) -> dict[str, object]:
        """For the store."""
        return asdict(self)

    def __str__(self) -> str:
        """For messages: `10.0.0.1:4711 (eth0 of gpu-01)`."""
        return f"{host_and_port(self.address, self.port)} ({self.interface} of {self.host})"


@dataclass(frozen=True, slots=True)
class NoHub:
    """What process 0 publishes instead where it cannot start."""

    trouble: str


def read_place(text: bytes, key: str) -> HubPlace:
    """What process 0 published. RunError: it cannot start, or this is not an address."""
    try:
        place: HubPlace | NoHub = read_printable_json(text[:LONGEST], HubPlace | NoHub)
        if isinstance(place, NoHub):
            raise RunError(one_line(place.trouble[:LONGEST_TROUBLE]))
        ipaddress.ip_address(place.address)
        if 0 < place.port < 65536:
            return place
    except ValueError:
        pass
    raise RunError(f"the store's value of {key} is not an address: does another program use this store?")
