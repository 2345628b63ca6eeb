# SPDX-License-Identifier: Apache-2.0
"""Recognises pasted outputs by content, and makes one machine of them."""

import re
from collections.abc import Callable, Sequence

from railgauge.topo.errors import InputError
from railgauge.topo.facts.capture import Capture
from railgauge.topo.facts.pasted import (
    hwloc,
    interface_text,
    ip_addr,
    lspci,
    lspci_tree,
    nic_table,
    rdma_link,
    rdma_tools,
    smi_links,
    smi_matrix,
    smi_p2p,
    smi_query,
    smi_table,
)
from railgauge.topo.facts.pasted.build import build
from railgauge.topo.facts.pasted.host import PastedHost
from railgauge.topo.facts.sources.kernel_events import KernelEvents
from railgauge.topo.files.pasted_text import plain_text, without_prefixes

LARGEST = 64 << 20
"""Bytes of a text; lspci -vvv of the largest servers is 2 MB, a kernel log of weeks some 10."""
NOT_READ = (
    (
        re.compile(rb"^[ \t]+Lnk(?:Cap|Sta):[ \t]+.*Speed ", re.MULTILINE),
        "lines of lspci without those of their devices, as 41:00.0 3D controller: ...",
    ),
    (
        re.compile(rb"^\s*(?:Machine|Package|HostBridge|PCIBridge|PCI|NUMANode) (?:L#\d|\()", re.MULTILINE),
        "lstopo's text, which is not read: give its XML (lstopo topo.xml)",
    ),
)
"""Texts that say something, but not of what, or in a form that is not read."""
KINDS = (
    "nvidia-smi (also topo -m, topo -p2p, -q, -L, nvlink -s), lspci (-vvv, -nn, -tv), hwloc (XML), ibstat, ibstatus, "
    "ibv_devinfo, ibv_devices, show_gids, ibdev2netdev, rdma link, a table of NICs, ip addr (-j), ifconfig, "
    "rocm-smi --showtopo, amd-smi topology, dmesg"
)


def _read_matrix(text: str, host: PastedHost) -> str:
    """The matrix of `nvidia-smi topo -m`; several of one host would contradict each other, so the first counts."""
    if not smi_matrix.has_matrix(text):
        return ""
    host.matrix = host.matrix or smi_matrix.loads(text)
    return "nvidia-smi topo -m"


def _read_kernel_log(text: str, host: PastedHost) -> str:
    events = KernelEvents()
    events.read(text.encode("utf-8", "replace"))
    if not events.of_kernel and not events.facts():
        return ""
    host.kernel_log = {"source": "dmesg", "lines": events.lines, "events": events.facts(), "missing": ""}
    return "dmesg"


Read = Callable[[str, PastedHost], str]
"""Adds what a text says to the host; the name of the output, "" if the text has none of it."""
READERS: tuple[Read, ...] = (
    _read_matrix,
    smi_p2p.read,
    smi_query.read,
    smi_links.read,
    smi_table.read,
    lspci.read,
    lspci_tree.read,
    rdma_tools.read_ibstat,
    rdma_tools.read_ibstatus,
    rdma_tools.read_ibv_devinfo,
    rdma_tools.read_show_gids,
    rdma_tools.read_ibv_devices,
    rdma_tools.read_ibdev2netdev,
    rdma_link.read,
    nic_table.read,
    ip_addr.read,
    interface_text.read,
)


def read(sources: Sequence[tuple[str, bytes]]) -> Capture:
    """The machine that some outputs of one host describe, given as (path, content).

    InputError for a text that has none of the outputs that are read.
    """
    host = PastedHost()
    for path, data in sources:
        tools = _recognised(path, data, host)
        if not tools:
            for form, why in NOT_READ:
                if form.search(data):
                    raise InputError(why, path)
            raise InputError(f"neither a topology file, a capture nor output of {KINDS}", path)
        host.tools += [tool for tool in tools if tool not in host.tools]
    return build(host)


def _recognised(path: str, data: bytes, host: PastedHost) -> list[str]:
    if len(data) > LARGEST:
        raise InputError(f"larger than {LARGEST >> 20} MiB", path)
    if hwloc.is_hwloc(data):
        return [hwloc.read(data, path, host)]
    text = plain_text(data)
    bare = without_prefixes(text)
    for one, readers in ((bare, READERS), (text, READERS), (text, (_read_kernel_log,)), (bare, (_read_kernel_log,))):
        if tools := [tool for read_one in readers if (tool := read_one(one, host))]:
            return tools
    return []
