# SPDX-License-Identifier: Apache-2.0
"""Words in the values of settings that reveal nothing about a site: those of NCCL, numbers, names of interfaces."""

import re

from railgauge.topo.facts.known_settings import KNOWN, ValueType
from railgauge.topo.facts.sources.nccl_settings import OTHERS

WORDS = frozenset(
    re.findall(
        r"\S+",
        """
    ring tree collnet collnetdirect collnetchain collnet_direct collnet_chain nvls nvlstree nvls_tree pat simple ll
    ll128
    allreduce broadcast reduce allgather reducescatter sendrecv alltoall gather scatter init coll p2p shm net
    graph tuning
    env alloc call proxy bootstrap reg profile ras all none off on true false yes no version warn info abort trace
    af_inet af_inet6 ib socket parallel group auto max min default rail loc nvl pix pxb px phb node sys c2c pxn dis
    internal ucx aws ofi ofi_rxm gin localhost any rc ud dc tcp cuda cuda_copy cuda_ipc gdr_copy cma self
    zero efficiency
    """,
    )
)
HOSTS = re.compile(r".*(?:_COMM_ID|_ADDR)")
"""Settings whose value is a host and a port."""
DEVICES = re.compile(r".*(?:IFNAME|_HCA|_DEVICES|_IF|_INTERFACE|_DEV)(?:_.*)?")
"""Settings whose value is names of interfaces or RDMA devices."""
INTERFACE = re.compile(
    r"(?:en|eth|ib|bond|team|docker|lo|veth|br|virbr|wl|ww|sl|mlx|hsn|roce|rocep|ibp|bnxt|irdma|efa|cxi|vlan|tun|tap|cni|"
    r"flannel|cali|podman|lxc|rail|gpu|mlan|net|usb|idrac|storage|p)(?:[-_.]?\w{0,4}\d[\w.@]{0,10}|[sx]\w{0,12})?"
)
"""How systemd, drivers and containers call interfaces and RDMA devices."""
NUMBER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]{1,16}|\d{1,19})[kKmMgG]?")
SHORT = re.compile(r"[-+]?(?:0x[0-9a-fA-F]{1,4}|\d{1,5})")
WORD = re.compile(r"[\w.+@%$!~-]+")


def takes_paths(name: str) -> bool:
    """Whether a setting's value is a file, or may be one."""
    return name.endswith(("_FILE", "_PLUGIN", "_LIB", "_PATH", "_DIR")) or _kind(name) is ValueType.FILE


def takes_devices(name: str) -> bool:
    """Whether a setting's value is names of interfaces or RDMA devices."""
    return bool(DEVICES.fullmatch(name))


def is_known(name: str) -> bool:
    """Whether words of such a setting are looked at one by one; the value of another is one secret."""
    return name in KNOWN or name.startswith(OTHERS)


def is_plain(name: str, word: str) -> bool:
    """Whether a word of its value reveals nothing."""
    number = NUMBER if _kind(name) is ValueType.NUMBER else SHORT
    if number.fullmatch(word) or word == "localhost":
        return True
    if takes_devices(name) and INTERFACE.fullmatch(word):
        return True
    return word.lower() in WORDS and not HOSTS.fullmatch(name)


def _kind(name: str) -> ValueType | None:
    return KNOWN[name].kind if name in KNOWN else None
