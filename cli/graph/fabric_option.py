# SPDX-License-Identifier: Apache-2.0
"""`graph predict --fabric`: the kind of a fabric, or the files that describe one."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from railgauge.topo.errors import UsageError
from railgauge.topo.predict.fabric import Fabric, FabricKind

if TYPE_CHECKING:
    import typer

OF_KIND = {"oversubscription": "--oversubscription", "radix": "--radix"}
"""Parameters that files decide."""


def fabric_of(
    ctx: "typer.Context", wiring: Sequence[str], oversubscription: float, hop_us: float, radix: int
) -> Fabric:
    """The fabric. UsageError for what is neither a kind nor a file, or a parameter that the files decide."""
    kinds = [FabricKind(one) for one in wiring if one in list(FabricKind) and not os.path.exists(one)]
    if len(kinds) == len(wiring) == 1:
        return Fabric(kind=kinds[0], oversubscription=oversubscription, hop_us=hop_us, radix=radix)
    if kinds:
        raise UsageError(f"--fabric {kinds[0]}: a kind excludes files and other kinds")
    missing = next((one for one in wiring if not os.path.exists(one)), None)
    if missing is not None:
        raise UsageError(f"--fabric {missing}: neither a file nor one of {', '.join(FabricKind)}")
    sources = {flag: ctx.get_parameter_source(name) for name, flag in OF_KIND.items()}
    given = [flag for flag, source in sources.items() if source and source.name == "COMMANDLINE"]
    if given:
        raise UsageError(f"{', '.join(given)}: the files of --fabric say it; leave it out")
    from railgauge.cli.fabric.known import known_fabric
    from railgauge.cli.fabric.options import adaptive_routing, open_fabric

    found, _, _ = open_fabric(wiring, None)
    adaptive_routing(found, asked=False)
    return known_fabric(found, hop_us=hop_us)
