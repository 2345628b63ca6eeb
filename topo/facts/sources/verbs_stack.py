# SPDX-License-Identifier: Apache-2.0
"""What libibverbs needs to reach a device: its node below /dev/infiniband, and the configuration of its provider."""

from typing import NamedTuple

from railgauge.topo.facts.reader import Reader
from railgauge.topo.facts.sources.sysfs_infiniband import CLASS

NODES = "/dev/infiniband"
VERBS_CLASS = "/sys/class/infiniband_verbs"
PROVIDERS = "/etc/libibverbs.d"
ALWAYS_THERE = "null"  # below /dev: where it is not, a capture or tree has no list of the device nodes
SUFFIX = ".driver"
KERNEL_NAMES = {"mlx5_core": "mlx5", "mlx4_core": "mlx4", "bnxt_en": "bnxt_re", "ice": "irdma", "irdma": "irdma"}
"""The provider of a kernel module that is called otherwise."""


class VerbsStack(NamedTuple):
    """nodes: those in /dev/infiniband, None if /dev was not read. providers: those that libibverbs has to
    load, without ".driver"; empty also where it has them built in. uverbs: the node of each device, by its name.
    drivers: the provider that each device needs, by its name; left out if the kernel's module is unknown.
    """

    nodes: tuple[str, ...] | None = None
    providers: tuple[str, ...] = ()
    uverbs: tuple[tuple[str, str], ...] = ()
    drivers: tuple[tuple[str, str], ...] = ()

    def lacks_node(self, name: str) -> bool:
        """Whether a device has no node in /dev/infiniband; False if /dev was not read."""
        node = dict(self.uverbs).get(name)
        return self.nodes is not None and not (node in self.nodes if node else self.nodes)


def read_verbs_stack(reader: Reader) -> VerbsStack:
    """What there is on the machine."""
    looked = ALWAYS_THERE in reader.entries("/dev")
    names = ((reader.text(f"{VERBS_CLASS}/{node}/ibdev"), node) for node in reader.entries(VERBS_CLASS))
    configured = reader.entries(PROVIDERS)
    drivers = ((name, reader.realpath(f"{CLASS}/{name}/device/driver")) for name in reader.entries(CLASS))
    return VerbsStack(
        nodes=reader.entries(NODES) if looked else None,
        providers=tuple(name.removesuffix(SUFFIX) for name in configured if name.endswith(SUFFIX)),
        uverbs=tuple((name, node) for name, node in names if name),
        drivers=tuple((name, _provider(path)) for name, path in drivers if path),
    )


def _provider(path: str) -> str:
    module = path.rpartition("/")[2]
    return KERNEL_NAMES.get(module, module)
