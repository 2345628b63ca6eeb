# SPDX-License-Identifier: Apache-2.0
"""The route from one endpoint to another, cable by cable."""

from collections.abc import Iterator
from dataclasses import dataclass

from railgauge.topo.errors import UsageError
from railgauge.topo.fabric.model import Cable, End, FabricEndpoint, FabricMap
from railgauge.topo.fabric.routing import Routing
from railgauge.topo.values.near import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One cable of a route, from the end that sends to the one that receives."""

    sender: End
    receiver: End
    cable: Cable


def named_endpoint(fabric: FabricMap, name: str) -> FabricEndpoint:
    """The endpoint that NODE/DEVICE, a port GUID, a MAC or LID:N names; of NODE alone its first.

    UsageError if there is none.
    """
    bare = name.lower().removeprefix("0x")
    for one in fabric.endpoints:
        if name in (f"{one.node}/{one.device}", one.name) or (one.address and bare.zfill(16) == one.address.zfill(16)):
            return one
    found = next((one for one in fabric.endpoints if name in (one.node, f"LID:{one.lid}")), None)
    if found is None:
        hint = did_you_mean(name, [f"{one.node}/{one.device}" for one in fabric.endpoints])
        raise UsageError(f"{name}: no such port{hint or '; name it as NODE/DEVICE, port GUID, MAC or LID:N'}")
    return found


def route(fabric: FabricMap, source: FabricEndpoint, target: FabricEndpoint) -> Iterator[Hop]:
    """The hops by the forwarding tables. InputError where a table has no route."""
    routing = Routing(fabric)
    for _, here in routing.walked([source], [target]):
        end = routing.ends[int(here[0])]
        cable = fabric.cable_at[end]
        yield Hop(sender=end, receiver=cable.other(end), cable=cable)
