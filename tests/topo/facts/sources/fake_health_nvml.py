# SPDX-License-Identifier: Apache-2.0
"""A pynvml of two GPUs for a child process: GPU0 answers all, GPU1 as FAULT says: "refuses" every call, or "hangs"."""

import ctypes
import os
import time
from types import SimpleNamespace


class NVMLError(Exception):
    pass


NVML_SUCCESS = 0
FAULT = os.environ.get("FAKE_NVML", "")
GPUS = 2


class c_nvmlEccSramErrorStatus_v1_t(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint), ("bThresholdExceeded", ctypes.c_uint))


ANSWERS = {
    "nvmlDeviceGetPciInfo": lambda handle: SimpleNamespace(busId=b"00000000:%02X:00.0" % (7 + handle)),
    "nvmlDeviceGetEccMode": lambda handle: [1, 1],
    "nvmlDeviceGetMemoryErrorCounter": lambda handle, error, counter, place: 100 * error + 10 * counter + place,
    "nvmlDeviceGetRemappedRows": lambda handle: (3, 1, 1, 0),
    "nvmlDeviceGetRowRemapperHistogram": lambda handle: SimpleNamespace(max=638, high=1, partial=1, low=0, none=0),
    "nvmlDeviceGetPcieReplayCounter": lambda handle: 4,
    "nvmlDeviceGetNvLinkErrorCounter": lambda handle, link, number: link,
    "nvmlDeviceGetCurrentClocksEventReasons": lambda handle: 0x44,
    "nvmlDeviceGetClockInfo": lambda handle, kind: 1000 + kind,
    "nvmlDeviceGetMaxClockInfo": lambda handle, kind: 2000 + kind,
    "nvmlDeviceGetPowerManagementLimit": lambda handle: 700_000,
    "nvmlDeviceGetPersistenceMode": lambda handle: 1,
    "nvmlDeviceGetComputeMode": lambda handle: 3,
    "nvmlSystemGetConfComputeState": lambda: SimpleNamespace(ccFeature=1, environment=2, devToolsMode=0),
    "nvmlSystemGetConfComputeGpusReadyState": lambda: 1,
}
FIELDS = {230: 1, 74: 5_000_000, 270: 7}


def __getattr__(name):
    if not name.startswith("nvml"):
        raise AttributeError(name)

    def call(*arguments):
        if arguments[:1] == (1,) and FAULT == "hangs":
            time.sleep(600)
        if name not in ANSWERS or (arguments[:1] == (1,) and FAULT == "refuses"):
            raise NVMLError("Not Supported")
        return ANSWERS[name](*arguments)

    return call


def nvmlInit():
    pass


def nvmlDeviceGetCount():
    return GPUS


def nvmlDeviceGetHandleByIndex(index):
    return index


def nvmlDeviceGetSramEccErrorStatus(handle, status):
    status._obj.bThresholdExceeded = 1


def nvmlDeviceGetFieldValues(handle, asked):
    if handle and FAULT:
        raise NVMLError("GPU is lost")
    return [
        SimpleNamespace(
            nvmlReturn=0 if field in FIELDS else 3,
            valueType=3,
            value=SimpleNamespace(ullVal=FIELDS.get(field, 0), uiVal=0),
        )
        for field, _ in asked
    ]
