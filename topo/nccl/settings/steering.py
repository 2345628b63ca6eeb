# SPDX-License-Identifier: Apache-2.0
"""The NCCL_* settings that steer the search of channels: those of the paths (levels.py), and how NICs are crossed.

NCCL's parameters: NCCL_CROSS_NIC (`ncclParamCrossNic`), NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS with their older
names (`ncclMinNchannels`, `ncclMaxNchannels` of src/graph/connect.cc, 2.30), NCCL_NVLS_ENABLE, NCCL_COLLNET_ENABLE and
NCCL_PAT_ENABLE, which steer the choice of an algorithm, NCCL_MNNVL_ENABLE, and for copy engines NCCL_CTA_POLICY and
NCCL_SYM_CE_THRESHOLD (`ncclParamSymCeThreshold` of src/enqueue.cc, 2.29.2 on).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.topo.errors import UsageError
from railgauge.topo.nccl.settings import levels
from railgauge.topo.nccl.settings.levels import BY_NAME, Levels, is_ignored, read_levels
from railgauge.topo.nccl.settings.mnnvl import OFF, read_mnnvl
from railgauge.topo.nccl.settings.parameter import parameter
from railgauge.topo.values.near import did_you_mean

NCCL_CHANNELS = 64  # MAXCHANNELS
CROSS_IF_BETTER = 2
PAT_IF_ALONE = 2
COPIED_FROM = 8 << 20  # elements of a rank, the default of NCCL_SYM_CE_THRESHOLD
MEANING = levels.MEANING | {
    "NCCL_CROSS_NIC": "0: a ring leaves by the NIC it enters by; 1: by any; 2: by another if that is better",
    "NCCL_MIN_NCHANNELS": "the minimum number of channels",
    "NCCL_MAX_NCHANNELS": "the maximum number of channels",
    "NCCL_MIN_NRINGS": "an older name of NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NRINGS": "an older name of NCCL_MAX_NCHANNELS",
    "NCCL_NVLS_ENABLE": "0: no NVLink multicast (NVLS); else where the GPUs have it",
    "NCCL_COLLNET_ENABLE": "1: the network reduces (CollNet), through a plugin such as SHARP's",
    "NCCL_PAT_ENABLE": "0: no PAT; 1: PAT; 2: PAT with one rank a node",
    "NCCL_MNNVL_ENABLE": "0: nodes of one NVLink domain are several; else one",
    "NCCL_CTA_POLICY": "ZERO or 2: copy engines move what symmetric windows hold, where they can (NCCL 2.28 on)",
    "NCCL_SYM_CE_THRESHOLD": "elements of a rank above which copy engines of Blackwell take an all_gather (2.29 on)",
    "NCCL_ALGO": "the algorithms that may be used, such as Ring or ^Tree",
    "NCCL_PROTO": "the protocols that may be used, such as Simple or ^LL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """The values of the settings; the defaults are NCCL's.

    cross_nic: 0, 1 or 2 as in MEANING. min_channels and max_channels bound the channels that collectives use.
    nvls, collnet, mnnvl: whether NVLink multicast, a network that reduces, and NVLinks between nodes may be used. pat:
    0, 1 or 2 as in MEANING. zero_cta: whether copy engines are to move data instead of thread blocks.
    copied_from: elements of a rank above which they do so unasked.
    """

    levels: Levels = field(default_factory=Levels)
    cross_nic: int = CROSS_IF_BETTER
    min_channels: int = 0
    max_channels: int = NCCL_CHANNELS
    nvls: bool = True
    collnet: bool = False
    pat: int = PAT_IF_ALONE
    mnnvl: bool = True
    zero_cta: bool = False
    copied_from: int = COPIED_FROM


def read_steering(settings: Mapping[str, str]) -> Steering:
    """Read the settings in an environment; names that steer nothing are ignored."""
    least = parameter(settings, "NCCL_MIN_NCHANNELS", parameter(settings, "NCCL_MIN_NRINGS", 0))
    most = parameter(settings, "NCCL_MAX_NCHANNELS", parameter(settings, "NCCL_MAX_NRINGS", NCCL_CHANNELS))
    return Steering(
        levels=read_levels(settings),
        cross_nic=_cross_nic(settings),
        min_channels=max(0, min(NCCL_CHANNELS, least)),
        max_channels=max(1, min(NCCL_CHANNELS, most)),
        nvls=parameter(settings, "NCCL_NVLS_ENABLE", 1) != 0,
        collnet=parameter(settings, "NCCL_COLLNET_ENABLE", 0) == 1,
        pat=parameter(settings, "NCCL_PAT_ENABLE", PAT_IF_ALONE),
        mnnvl=read_mnnvl(settings).mode != OFF,
        zero_cta=_zero_cta(settings.get("NCCL_CTA_POLICY", "")),
        copied_from=parameter(settings, "NCCL_SYM_CE_THRESHOLD", COPIED_FROM),
    )


def _zero_cta(policy: str) -> bool:
    """NCCL_CTA_POLICY: a digit, or words joined by | (`getEnvCtaPolicyOnce` of src/init.cc)."""
    return policy[0] == "2" if policy[:1].isdigit() else "ZERO" in policy.upper().split("|")


def _cross_nic(settings: Mapping[str, str]) -> int:
    """NCCL_CROSS_NIC; other numbers than 1 and 2 count as 0, since `ncclTopoCompute` compares with those alone."""
    value = parameter(settings, "NCCL_CROSS_NIC", CROSS_IF_BETTER)
    return value if value in (1, CROSS_IF_BETTER) else 0


def _taken_as(settings: Mapping[str, str], name: str) -> str:
    """How NCCL reads a value that it does not take as it is; "" for any other."""
    if is_ignored(settings, name):
        return " is invalid: NCCL ignores it"
    if name == "NCCL_CROSS_NIC" and parameter(settings, name, CROSS_IF_BETTER) != _cross_nic(settings):
        return f" is not 0, 1 or 2: NCCL uses {_cross_nic(settings)}"
    return ""


def in_force(settings: Mapping[str, str], names: Mapping[str, str] = MEANING) -> tuple[str, ...]:
    """Those of `names` that are set, as NAME=VALUE; with a remark if NCCL ignores or changes the value."""
    return tuple(f"{name}={settings[name]}{_taken_as(settings, name)}" for name in names if settings.get(name))


def parse_settings(texts: list[str], names: Mapping[str, str] = MEANING) -> dict[str, str]:
    """The settings of `--set NAME=VALUE`; UsageError for another form, a name not among `names`, or a wrong level."""
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in names:
            near = did_you_mean(name, names)
            raise UsageError(f"--set {text!r}: expected NAME=VALUE with one of {', '.join(names)}{near}")
        settings[name] = value
        if is_ignored(settings, name):
            raise UsageError(f"--set {text!r}: levels are {', '.join(BY_NAME)}; policies are AUTO, ALL and MAX:n")
    return settings
