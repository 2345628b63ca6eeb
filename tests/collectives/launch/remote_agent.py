# SPDX-License-Identifier: Apache-2.0
"""In place of ssh: a script that mpirun calls as `AGENT [-options] ADDRESS COMMAND...`, which enters that host.

A host's name will do in place of its address.
"""

import shlex
from pathlib import Path

from tests.hosts.netns import Hosts


def remote_agent(hosts: Hosts, folder: Path) -> str:
    """The path of such a script for these hosts; it logs the commands in `folder`/agent.log."""
    cases = "\n".join(
        f'{address}|{hosts.names[number]}) exec {shlex.join(hosts.command(number, ["sh", "-c"]))} "$*" ;;'
        for number, address in enumerate(hosts.addresses)
    )
    script = folder / "agent"
    script.write_text(
        f"""#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac; do shift; done
address=$1
shift
echo "$*" >> {shlex.quote(str(folder / "agent.log"))}
case $address in
{cases}
esac
echo "no host $address" >&2
exit 255
"""
    )
    script.chmod(0o755)
    return str(script)
