# SPDX-License-Identifier: Apache-2.0
"""What railgauge says NCCL does under each environment that comes as a line of JSON, where this process runs."""

import json
import os
import sys

from railgauge.topo.errors import Error
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.sources.interfaces import live_interfaces
from railgauge.topo.facts.sources.nccl_settings import Setting, export_files, live_settings, read_former, read_settings
from railgauge.topo.nccl.settings.interfaces import socket_interfaces
from railgauge.transports.addresses import local_addresses
from railgauge.transports.interface import bootstrap_interface


def bytewise(text: str) -> str:
    """One character for each byte."""
    return os.fsencode(text).decode("latin-1")


def told(setting: Setting) -> tuple[str, str, bool]:
    """What `env` is told of a setting."""
    return setting.name, setting.value, setting.carriage_return


def answer(environment: dict[str, str]) -> dict[str, object]:
    """bootstrap: the interface of a run, "" without one; sockets: those of `env`, and before 2.28.

    left: the variables after NCCL read its files; settings: those of files that `env` shows, as [name, value, carriage
    return]; former: those of the home folder that NCCL before 2.30 reads.
    """
    reader = LiveReader("/", {"interfaces": live_interfaces, "settings": lambda: live_settings(environment)})
    try:
        bootstrap = str(bootstrap_interface(environment))
    except Error:
        bootstrap = ""
    left = dict(environment)
    export_files(left)
    return {
        "bootstrap": bootstrap,
        "sockets": socket_interfaces(reader, environment),
        "former_sockets": socket_interfaces(reader, environment, former=True),
        "addresses": [[one.interface, one.text, str(one.network)] for one in local_addresses()],
        "left": {bytewise(name): bytewise(value) for name, value in left.items()},
        "settings": [told(one) for one in read_settings(reader) if one.is_of_file],
        "former": [told(one) for one in read_former(reader)],
    }


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
