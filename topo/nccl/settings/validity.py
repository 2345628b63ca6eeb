# SPDX-License-Identifier: Apache-2.0
"""Errors in the spelling of a setting: NCCL ignores it, or reads another value.

Whether it fits the machine is judged elsewhere. NCCL's parsing: `ncclLoadParam`, `setEnvFile` (misc/param.cc, 2.30);
what releases do otherwise is asked of their libraries in tests/nccl.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from railgauge.topo.errors import UsageError
from railgauge.topo.facts.known_settings import KNOWN, REMOVED, KnownSetting, ValueType, nearest
from railgauge.topo.facts.program_settings import PLUGINS, program_of
from railgauge.topo.facts.sources.nccl_settings import LONGEST, PREFIX, Setting
from railgauge.topo.nccl.settings.algorithms import read_allowed
from railgauge.topo.nccl.settings.hca import parse_hca
from railgauge.topo.nccl.settings.levels import is_ignored
from railgauge.topo.nccl.settings.parameter import LARGEST, parameter
from railgauge.topo.values.number import strtol

HCA, IFNAME, COMM_ID, NET = "NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "NCCL_COMM_ID", "NCCL_NET"
OF_DEVICES = re.compile(r"[,:]")
"""What no network's name has: a list of devices."""
PLAIN = re.compile(r"\s*[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
DEBUG = ("NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE")  # in any case: strcasecmp
CHOICES = {
    "NCCL_DEBUG": DEBUG,
    "NCCL_IB_ADDR_FAMILY": ("AF_INET", "AF_INET6"),
    "NCCL_SOCKET_FAMILY": ("AF_INET", "AF_INET6"),
    "NCCL_LAUNCH_MODE": ("PARALLEL", "GROUP"),
}
"""The values that NCCL knows; it ignores others."""
ANY_CASE = ("NCCL_DEBUG",)
INSIDE = re.compile(rf"{PREFIX}\w*")
STRIPPED_SINCE = (2, 30)  # the first release that removes the carriage return of a line of a file
OF_IMAGES = "NCCL_VERSION"  # set by NVIDIA's CUDA images
PYTORCH = ("NCCL_BLOCKING_WAIT", "NCCL_ASYNC_ERROR_HANDLING", "NCCL_DESYNC_DEBUG", "NCCL_ENABLE_TIMING")
"""Settings of PyTorch named like NCCL's; since 2.2 they are TORCH_NCCL_*."""


class SettingFault(NamedTuple):
    """ignored: NCCL ignores the setting; else it uses another value, or does not start (fatal).

    meant: the setting that was probably meant, None if unknown.
    """

    message: str
    ignored: bool = False
    fatal: bool = False
    meant: str | None = None


def fault_of(setting: Setting, release: str | None = None) -> SettingFault | None:
    """The error in a setting of NCCL of a release, such as "2.28.9"; None if it is valid, or of another program."""
    if setting.name == COMM_ID and not setting.value:
        return SettingFault(message="is empty, which is no address: NCCL does not start; unset it", fatal=True)
    if not is_meant_for_nccl(setting.name) or not setting.value:
        return None
    known = KNOWN.get(setting.name)
    if known is None:
        return _unread(setting.name)
    if release and known.since and _version(release) < _version(known.since):
        message = f"is read since NCCL {known.since}; this system has {release}"
        return SettingFault(message=message, ignored=True)
    if setting.is_of_file and len(setting.value) >= LONGEST:
        return SettingFault(message=f"is cut after {LONGEST} characters, the limit of NCCL for files")
    if known.kind is ValueType.NUMBER:
        return _of_number(known, setting.value)
    return _of_text(known, {setting.name: setting.value}) or _of_line_end(setting, release)


def is_meant_for_nccl(name: str) -> bool:
    """Whether a name is that of a setting of NCCL, known or not, or has one in it, as `export NCCL_NET` in a file."""
    if name.startswith(PREFIX):
        return not name.startswith((*PLUGINS,))
    inside = INSIDE.search(name)
    return inside is not None and program_of(name) is None and nearest(inside[0]) is not None


def _of_line_end(setting: Setting, release: str | None) -> SettingFault | None:
    """A text with a carriage return behind it. Numbers end before it: strtoll."""
    if not setting.carriage_return or (release and _version(release) >= STRIPPED_SINCE):
        return None
    here = f" (this system has {release})" if release else ""
    return SettingFault(
        message=f"ends in a carriage return, as {setting.origin} has Windows line ends: NCCL up to 2.29 keeps it in "
        f"the value, 2.30 and later remove it{here}"
    )


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:2])


def _unread(name: str) -> SettingFault:
    if name in REMOVED:
        return SettingFault(message=f"is no longer read: {REMOVED[name]}", ignored=True)
    if name in PYTORCH:
        return SettingFault(
            message=f"is a setting of PyTorch, not of NCCL; since 2.2 it is TORCH_{name}",
            ignored=True,
            meant=f"TORCH_{name}",
        )
    if name == OF_IMAGES:
        return SettingFault(message="names the NCCL package of a container image; NCCL does not read it", ignored=True)
    meant = nearest(name)
    if not name.startswith(PREFIX) and (found := INSIDE.search(name)):
        meant = nearest(found[0])
        message = f"is set under the name {name!r}, which NCCL does not look for: it has to begin with NCCL_"
        return SettingFault(message=message, ignored=True, meant=meant)
    if name != name.strip():
        return SettingFault(
            message=f"has a blank in its name {name!r}, which NCCL does not trim", ignored=True, meant=meant
        )
    hint = f"did you mean {meant}?" if meant else "a network plugin may read it"
    return SettingFault(message=f"is not a setting of NCCL; {hint}", ignored=True, meant=meant)


def _of_number(known: KnownSetting, text: str) -> SettingFault | None:
    number = strtol(text)
    default = f"the default {known.default}" if known.default else "its default"
    if number is None:
        return SettingFault(message=f"is not a number: NCCL reads {text!r} as 0")
    if abs(number) > LARGEST:
        return SettingFault(message=f"exceeds 64 bits: NCCL uses {default}", ignored=True)
    if (known.least is not None and number < known.least) or (known.most is not None and number > known.most):
        return SettingFault(message=f"is {number}, out of range {known.least}..{known.most}")
    digits = text.strip().lstrip("+-")
    if digits.startswith("0") and digits[1:2].isdigit():
        return SettingFault(message=f"is octal because it begins with 0: NCCL reads {text!r} as {number}")
    if not PLAIN.fullmatch(text.rstrip()):
        return SettingFault(message=f"has text after the number: NCCL reads {text!r} as {number}")
    return None


def _of_text(known: KnownSetting, one: Mapping[str, str]) -> SettingFault | None:
    text = one[known.name]
    if known.name == HCA and not parse_hca(text).entries and not text.startswith("^"):
        return SettingFault(message=f"is {text!r}, which names no device: NCCL uses every port", ignored=True)
    if known.name == NET and OF_DEVICES.search(text):
        message = f"is {text!r}, but it names one network, which NCCL does not find: devices are named in {HCA}"
        return SettingFault(message=message, fatal=True, meant=HCA)
    if known.name == IFNAME and len(text) == 1:
        return SettingFault(message=f"is {text!r}: NCCL ignores values of one character", ignored=True)
    if text != text.strip() or text[:1] in ("'", '"'):
        return SettingFault(message=f"is {text!r}: NCCL does not remove blanks and quotes")
    choices = CHOICES.get(known.name)
    if choices and (text.upper() if known.name in ANY_CASE else text) not in choices:
        return SettingFault(message=f"is {text!r}, not one of {', '.join(choices)}: NCCL ignores it", ignored=True)
    if is_ignored(one, known.name):
        return SettingFault(message=f"is {text!r}, which NCCL cannot parse", ignored=True)
    try:
        read_allowed(one)
    except UsageError as error:
        return SettingFault(message=f"is rejected, and NCCL does not start: {error}", fatal=True)
    return None


def is_default(known: KnownSetting, text: str) -> bool:
    """Whether a value equals the default."""
    if not known.default:
        return False
    if known.kind is ValueType.NUMBER:
        return parameter({known.name: text}, known.name, 0) == parameter({known.name: known.default}, known.name, 0)
    return text.upper() == known.default.upper()
