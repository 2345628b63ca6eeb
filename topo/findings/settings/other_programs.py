# SPDX-License-Identifier: Apache-2.0
"""Settings of other programs that are set beside NCCL's, and any in NCCL's files."""

from railgauge.topo.facts.program_settings import SETTINGS, program_of
from railgauge.topo.facts.sources.nccl_settings import VISIBLE, Setting
from railgauge.topo.findings.node import conf_file_forgotten
from railgauge.topo.findings.settings.verdict import Opinion, SettingVerdict
from railgauge.topo.machine import Machine
from railgauge.topo.values.near import did_you_mean
from railgauge.topo.values.number import strtol

WHOLE_NAMES = {"GLOO_SOCKET_IFNAME": "Gloo", "TP_SOCKET_IFNAME": "TensorPipe"}
PYTORCH = (
    "ASYNC_ERROR_HANDLING", "AVOID_RECORD_STREAMS", "BCAST_UNIQUEID", "BLOCKING_WAIT", "COORD_CHECK_MILSEC",
    "CUDA_EVENT_CACHE", "DEBUG_INFO_PIPE_FILE", "DEBUG_INFO_TEMP_FILE", "DESYNC_DEBUG", "DUMP_ON_TIMEOUT",
    "ENABLE_MONITORING", "ENABLE_TIMING", "EXTRA_DUMP_ON_EXEC", "HEARTBEAT_TIMEOUT_SEC", "HIGH_PRIORITY",
    "LOG_CPP_STACK_ON_UNCLEAN_SHUTDOWN", "NAN_CHECK", "PROPAGATE_ERROR", "RANKS_PER_ROOT", "RETHROW_CUDA_ERRORS",
    "SHOW_EAGER_INIT_P2P_SERIALIZATION_WARNING", "TRACE_BUFFER_SIZE", "TRACE_CPP_STACK", "USE_COMM_NONBLOCKING",
    "USE_TENSOR_REGISTER_ALLOCATOR_HOOK", "WAIT_TIMEOUT_DUMP_MILSEC",
)  # fmt: skip
"""What PyTorch reads after TORCH_NCCL_ (ProcessGroupNCCL.hpp, 2.2 to 2.13)."""
TORCH, UCX = "TORCH_NCCL_", "UCX_NET_DEVICES"
GUESSED = ("RCCL_", "HSA_")
"""Begins of names that are all known, so that others are misspelt."""


def judged_other(machine: Machine, setting: Setting) -> Opinion:
    """The effect of such a setting on this machine."""
    program = program_of(setting.name)
    if setting.name == VISIBLE and setting.is_of_file:
        rule = conf_file_forgotten.RULE
        return Opinion(verdict=SettingVerdict.HARMFUL, why=conf_file_forgotten.HIDES, finding=rule.id)
    if setting.name in WHOLE_NAMES:
        return _interfaces(machine, setting)
    if setting.name == UCX:
        return _ucx(machine, setting)
    if setting.name.startswith(TORCH) and setting.name.removeprefix(TORCH) not in PYTORCH:
        why = "PyTorch has no such setting, and NCCL reads no TORCH_NCCL_*"
        return Opinion(verdict=SettingVerdict.IGNORED, why=why)
    if program is not None:
        return _of_program(setting, program)
    if setting.is_of_file:
        return Opinion(verdict=SettingVerdict.EFFECTIVE, why=conf_file_forgotten.SETS)
    why = "neither NCCL nor a program that railgauge knows reads it"
    return Opinion(verdict=SettingVerdict.UNKNOWN, why=why)


def _of_program(setting: Setting, program: str) -> Opinion:
    known = SETTINGS.get(setting.name)
    if known is None and setting.name.startswith(GUESSED):
        near = did_you_mean(setting.name, SETTINGS)
        return Opinion(verdict=SettingVerdict.UNKNOWN, why=f"not a known setting of {program}{near}")
    if known is None:
        return Opinion(verdict=SettingVerdict.EFFECTIVE, why=f"{program} reads it; it changes nothing in NCCL")
    number = strtol(setting.value)
    least, most = known.least, known.most
    if least is not None and (number is None or number < least or (most is not None and number > most)):
        span = f"{least}..{most}" if most is not None else f"{least} or more"
        why = f"{setting.value!r} is not in the range {span}: {known.meaning}"
        return Opinion(verdict=SettingVerdict.HARMFUL, why=why)
    if setting.value == known.default:
        return Opinion(verdict=SettingVerdict.HARMLESS, why="it is the default")
    return Opinion(verdict=SettingVerdict.EFFECTIVE, why=f"{program} reads it: {known.meaning}")


def _interfaces(machine: Machine, setting: Setting) -> Opinion:
    """A list of whole names, where NCCL's has prefixes."""
    program = WHOLE_NAMES[setting.name]
    names = setting.value.split(",")
    if machine.interface_names is None:
        return Opinion(verdict=SettingVerdict.UNKNOWN, why="the addresses of its interfaces are unknown")
    missing = [name for name in names if name not in machine.interface_names]
    if missing:
        here = ", ".join(machine.interface_names)
        why = f"{program} requires full interface names; without address: {', '.join(missing)} (available: {here})"
        return Opinion(verdict=SettingVerdict.HARMFUL, why=why)
    return Opinion(verdict=SettingVerdict.EFFECTIVE, why=f"{program} uses {', '.join(names)}; NCCL does not read it")


def _ucx(machine: Machine, setting: Setting) -> Opinion:
    """Ports as mlx5_0:1, interfaces, or all."""
    devices = machine.sources.rdma
    there = {f"{one.name}:{port.number}" for one in devices for port in one.ports} | {*(machine.interface_names or ())}
    missing = [name for name in setting.value.split(",") if name not in there and name != "all"]
    if missing and machine.interface_names is None:
        return Opinion(verdict=SettingVerdict.UNKNOWN, why="the addresses of its interfaces are unknown")
    if missing:
        why = f"UCX requires ports as mlx5_0:1 or interfaces; not found: {', '.join(missing)}"
        return Opinion(verdict=SettingVerdict.HARMFUL, why=why)
    return Opinion(verdict=SettingVerdict.EFFECTIVE, why="UCX reads it, for MPI; NCCL does not")
